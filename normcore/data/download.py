"""Get a data set from its official home: nothing unverified is ever seen under a file's name.

What is on its way lies in ``<data sets' directory>/<data set>.part/``, beside the data set's own folder. If a fetch is
interrupted, it stays there, and the next fetch goes on from it.
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
    """Download what is not there yet into ``<datasets_dir>/<folder>/``; files that are there and right stay.

    An archive that was put into that folder by hand is unpacked instead of downloaded. One file that cannot be had does
    not keep the others from being fetched.

    Returns:
        The files' paths; none for a bundled data set.

    Raises:
        DownloadFailed: no source of some file answers, or it has none; the message says why, and where files go by
            hand.
        DatasetCorrupt: what came is not the official content; nothing of it is kept.
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
    """Put each file into its place; raises for all that could not be had together."""
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
    reasons = "; ".join(dict.fromkeys(map(str, failures)))  # those of an archive are the same for all its members
    raise kind(f"data set '{dataset.name}' could not be fetched: {reasons}; {by_hand(dataset, datasets_dir)}")


@contextmanager
def _on_the_way(dataset: Dataset, datasets_dir: Path) -> Iterator[Path]:
    """The folder of what is on its way, for one process at a time; afterwards it is gone if it is empty.

    Without such locks (Windows), two fetches at the same time can make each other's download fail its check.
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
    """Try one source after the other, then move the verified file into its place; why none served, if none did."""
    folder = datasets_dir / downloads.dataset.folder
    failures: list[DatasetError] = []
    for source in _sources(file, folder):
        try:
            got = downloads.unpacked(source, file) if isinstance(source, Path) else downloads.verified(source, file)
        except DatasetError as error:
            failures.append(error)
            continue
        _put(got, folder, file)
        return []
    return failures or [DownloadFailed(f"{file.name} has no public address")]


def _sources(file: DataFile, folder: Path) -> Sequence[Path | str]:
    """Archives that somebody has put into the data set's folder, then URLs."""
    if file.member is None:
        return file.urls
    archives = dict.fromkeys(folder / posixpath.basename(url) for url in file.urls)
    return [*(archive for archive in archives if archive.is_file()), *file.urls]


def _put(got: Path, folder: Path, file: DataFile) -> None:
    """Replace whatever stood in the file's place, under either of its names."""
    folder.mkdir(exist_ok=True)
    name = file.name + (".gz" if got.suffix == ".gz" else "")
    os.replace(got, folder / name)
    other = file.name if name != file.name else file.name + ".gz"
    (folder / other).unlink(missing_ok=True)


class Downloads:
    """Downloads of one fetch: each URL once, for all members of an archive, whether it serves or fails."""

    def __init__(self, dataset: Dataset, scratch: Path, progress: Progress | None) -> None:
        self.dataset = dataset
        self._scratch = scratch
        self._progress = progress
        self._got: dict[str, tuple[Path, bool]] = {}
        self._failed: dict[str, DownloadFailed] = {}
        self._corrupt: set[Path] = set()

    def verified(self, url: str, file: DataFile) -> Path:
        """The file from ``url``, in the folder of what is on its way.

        Raises:
            DownloadFailed, DatasetCorrupt: it cannot be had from there.
        """
        got, resumed = self._download(url)
        try:
            if file.member is not None:
                return self.unpacked(got, file)
            check_content(self.dataset, file, got)
        except DatasetCorrupt as error:
            if resumed:  # the earlier bytes may be of a file that the server has changed since
                got.unlink()
                del self._got[url]
                return self.verified(url, file)
            self._corrupt.add(got)
            raise DatasetCorrupt(f"{url}: {error}") from error
        return got

    def unpacked(self, archive: Path, file: DataFile) -> Path:
        """The file out of an archive, as a file of its own.

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
    """Write the file's content to ``target``, and no more than one piece above its size."""
    assert file.member is not None
    done = 0
    with target.open("wb") as out:
        for chunk in member_chunks(archive, file.member):
            done += out.write(chunk)
            if done > file.size:
                raise DatasetCorrupt(f"{file.member} in {archive.name} holds more than {file.size:,} bytes")
