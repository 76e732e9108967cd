"""Get a data set from its official home. A file gets its final name only after its content was verified.

Incomplete downloads lie in ``<data sets' directory>/<data set>.part/``, beside the data set's own folder. If a fetch is
interrupted, they stay there, and the next fetch continues them.
"""

import os
import posixpath
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from normcore.data.archive import member_chunks
from normcore.data.datasets import DataFile, Dataset
from normcore.data.files import DatasetCorrupt, DatasetError, by_hand, check_content, locate, verify
from normcore.data.transfer import DownloadFailed, Progress, download

if sys.platform != "win32":
    import fcntl

__all__ = ["DownloadFailed", "Progress", "fetch"]

LOCK = ".lock"


def fetch(dataset: Dataset, datasets_dir: Path, progress: Progress | None = None) -> list[Path]:
    """Download missing and wrong files into ``<datasets_dir>/<folder>/``; files that are there and right stay.

    An archive that was put into that folder by hand is unpacked instead of downloaded. If one file cannot be had, the
    other files are still fetched.

    Returns:
        Paths of all files of the data set; an empty list for a bundled data set.

    Raises:
        DownloadFailed: some file has no source, or no source of it answers. The message says why, and where to put
            files by hand.
        DatasetCorrupt: a downloaded content is not the official content; it is removed.
        OSError: a folder or file cannot be written.
    """
    absent = [file for file in dataset.files if not _is_right(dataset, file, datasets_dir)]
    if absent:
        _fetch_files(dataset, absent, datasets_dir, progress)
    verify(dataset, datasets_dir)
    return [locate(dataset, file, datasets_dir) for file in dataset.files]


def _is_right(dataset: Dataset, file: DataFile, datasets_dir: Path) -> bool:
    try:
        check_content(dataset, file, locate(dataset, file, datasets_dir))
    except DatasetError:
        return False
    return True


def _fetch_files(dataset: Dataset, files: list[DataFile], datasets_dir: Path, progress: Progress | None) -> None:
    """Fetch each file into its place; raises one error for all files that could not be had."""
    datasets_dir.mkdir(parents=True, exist_ok=True)
    with _on_the_way(dataset, datasets_dir) as scratch:
        downloads = Downloads(dataset, scratch, progress)
        try:
            failures = [failure for file in files for failure in _fetch_file(downloads, file, datasets_dir)]
        finally:
            downloads.remove_corrupt()
        if not failures:
            shutil.rmtree(scratch, ignore_errors=True)
            return
    kind = DatasetCorrupt if any(isinstance(failure, DatasetCorrupt) for failure in failures) else DownloadFailed
    reasons = "; ".join(dict.fromkeys(map(str, failures)))  # all members of an archive give the same reason
    raise kind(f"data set '{dataset.name}' could not be fetched: {reasons}; {by_hand(dataset, datasets_dir)}")


@contextmanager
def _on_the_way(dataset: Dataset, datasets_dir: Path) -> Iterator[Path]:
    """Lock the folder of incomplete downloads for this process; afterwards an empty folder is removed.

    Windows has no such lock: there, two fetches at the same time can make each other's download fail its check.
    """
    scratch = datasets_dir / f"{dataset.name}.part"
    scratch.mkdir(exist_ok=True)
    lock = scratch / LOCK
    with lock.open("w") as held:
        if sys.platform != "win32":
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise DownloadFailed(f"data set '{dataset.name}' is being fetched by another process") from None
        try:
            yield scratch
        finally:
            with suppress(OSError):  # what an interrupted download left stays
                lock.unlink(missing_ok=True)
                scratch.rmdir()


def _fetch_file(downloads: "Downloads", file: DataFile, datasets_dir: Path) -> list[DatasetError]:
    """Try the sources in turn, and move the verified file into its place.

    Returns:
        An empty list after success; else the error of each source.
    """
    folder = datasets_dir / downloads.dataset.folder
    failures: list[DatasetError] = []
    for source in _sources(file, folder):
        try:
            got = (
                downloads.unpack_file(source, file) if isinstance(source, Path) else downloads.fetch_file(source, file)
            )
        except DatasetError as error:
            failures.append(error)
            continue
        _put(got, folder, file)
        return []
    return failures or [DownloadFailed(f"{file.name} has no public address")]


def _sources(file: DataFile, folder: Path) -> Sequence[Path | str]:
    """Sources of a file: first archives that somebody put into the data set's folder, then URLs."""
    if file.member is None:
        return file.urls
    archives = dict.fromkeys(folder / posixpath.basename(url) for url in file.urls)
    return [*(archive for archive in archives if archive.is_file()), *file.urls]


def _put(got: Path, folder: Path, file: DataFile) -> None:
    """Move the verified file into its place; an older file is replaced, whether its name has ``.gz`` or not."""
    folder.mkdir(exist_ok=True)
    name = file.name + (".gz" if got.suffix == ".gz" else "")
    os.replace(got, folder / name)
    other = file.name if name != file.name else file.name + ".gz"
    (folder / other).unlink(missing_ok=True)


class Downloads:
    """Downloads of one fetch. Each URL is tried once, even if several files are members of its archive."""

    def __init__(self, dataset: Dataset, scratch: Path, progress: Progress | None) -> None:
        self.dataset = dataset
        self._scratch = scratch
        self._progress = progress
        self._got: dict[str, tuple[Path, bool]] = {}
        self._failed: dict[str, DownloadFailed] = {}
        self._corrupt: set[Path] = set()

    def fetch_file(self, url: str, file: DataFile) -> Path:
        """Download the file from ``url`` into the folder of incomplete downloads, and check its content.

        Raises:
            DownloadFailed, DatasetCorrupt: ``url`` does not serve the file, or serves other content.
        """
        got, resumed = self._download(url)
        try:
            if file.member is not None:
                return self.unpack_file(got, file)
            check_content(self.dataset, file, got)
        except DatasetCorrupt as error:
            if resumed:  # the server may have changed the file since the earlier attempt
                got.unlink()
                del self._got[url]
                return self.fetch_file(url, file)
            self._corrupt.add(got)
            raise DatasetCorrupt(f"{url}: {error}") from error
        return got

    def unpack_file(self, archive: Path, file: DataFile) -> Path:
        """Unpack the file from an archive, and check its content.

        Raises:
            DatasetCorrupt: the archive cannot be read, or holds something else.
        """
        assert file.member is not None
        target = self._scratch / file.name
        try:
            _write(archive, file, target)
            check_content(self.dataset, file, target)
        except DatasetCorrupt:
            target.unlink()
            raise
        return target

    def remove_corrupt(self) -> None:
        """Remove the downloads whose content was not the official one."""
        for path in self._corrupt:
            path.unlink(missing_ok=True)

    def _download(self, url: str) -> tuple[Path, bool]:
        if url in self._failed:
            raise self._failed[url]
        if url not in self._got:
            try:
                self._got[url] = download(url, self._scratch, self._progress)
            except DownloadFailed as error:
                self._failed[url] = error
                raise
        return self._got[url]


def _write(archive: Path, file: DataFile, target: Path) -> None:
    """Write the file's content to ``target``; stops at the first piece that exceeds the file's size."""
    assert file.member is not None
    done = 0
    with target.open("wb") as out:
        for chunk in member_chunks(archive, file.member):
            done += out.write(chunk)
            if done > file.size:
                raise DatasetCorrupt(f"{file.member} in {archive.name} holds more than {file.size:,} bytes")
