"""Description of a data set and of each of its files, as the registry has it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DataFile:
    """One file, stored as ``<data sets' directory>/<folder>/<name>``, plain or with ``.gz`` added.

    Attributes:
        name: the official name, without ``.gz``.
        sha256: digest of the uncompressed content, so that the official bytes are accepted from any archive; empty if
            none is published: then any content is taken, and its digest recorded.
        size: uncompressed bytes; 0 if that is not known.
        urls: where it can be downloaded, the official home first; a ``.gz`` is stored as it comes. Empty if no public
            address is known: then the file is put in its place by hand.
        member: its path inside the tar or zip archive that the URLs lead to, if they do.
    """

    name: str
    sha256: str = ""
    size: int = 0
    urls: tuple[str, ...] = ()
    member: str | None = None


@dataclass(frozen=True, slots=True)
class Dataset:
    """A data set. One without files comes bundled with an installed package.

    Attributes:
        description: what a user must know before comparing results, if anything.
        part_of: the data set that this is a part of, in a split of our own; no published result is on it, as its
            description says.
        stored_in: its folder below the data sets' directory, if that is not called like the data set.
        content_sha256: digest of a bundled data set's content as its module reads it; None where the content changes
            with the package.
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
        """Its folder below the data sets' directory."""
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
        """The file of that name, which must be one of this data set."""
        return next(file for file in self.files if file.name == name)
