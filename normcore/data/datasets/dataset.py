"""Classes that describe a data set and its files in the registry."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DataFile:
    """One file, stored as ``<data sets' directory>/<folder>/<name>``, plain or with ``.gz`` added.

    Attributes:
        name: the official name, without ``.gz``.
        sha256: digest of the uncompressed content, so that the official bytes are accepted from any archive. Empty if
            no digest is published: then any content is accepted, and its digest is recorded.
        size: uncompressed bytes; 0 if that is not known.
        urls: addresses to download the file from, the official home first; a ``.gz`` is stored as it comes. Empty if no
            public address is known: then users put the file in its place by hand.
        member: path of the file inside a tar or zip archive, if the URLs lead to an archive; else None.
    """

    name: str
    sha256: str = ""
    size: int = 0
    urls: tuple[str, ...] = ()
    member: str | None = None


@dataclass(frozen=True, slots=True)
class Dataset:
    """A data set. A data set without files comes bundled with an installed package.

    Attributes:
        description: what a user must know before comparing results, if anything.
        part_of: the larger data set that this data set is a part of, with a split of our own. No published result uses
            the part, and ``description`` says so.
        stored_in: the data set's folder below the data sets' directory, if it has another name than the data set.
        content_sha256: digest of a bundled data set's content; None if the content changes with the package's version.
    """

    name: str
    title: str
    citation: str
    licence: str
    homepage: str
    files: tuple[DataFile, ...] = ()
    description: str = ""
    part_of: str | None = None
    stored_in: str | None = None
    content_sha256: str | None = None

    @property
    def folder(self) -> str:
        """Folder of the data set below the data sets' directory."""
        return self.stored_in or self.name

    @property
    def size(self) -> int:
        """Uncompressed bytes of all files; 0 for a bundled data set."""
        return sum(file.size for file in self.files)

    @property
    def fetchable(self) -> bool:
        """Tell if every file has an address to download it from."""
        return all(file.urls for file in self.files)

    def file(self, name: str) -> DataFile:
        """Find the file called ``name``, which must be a file of this data set."""
        return next(file for file in self.files if file.name == name)
