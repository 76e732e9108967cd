"""Fetching leaves the official files, or nothing."""

import gzip
import hashlib
import io
import tarfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from normcore.data.registry import DataFile, Dataset, DatasetCorrupt, DownloadFailed, fetch

CONTENT = b"official content" * 1000


class Quiet(SimpleHTTPRequestHandler):
    requests: list[str] = []  # noqa: RUF012

    def log_message(self, format: str, *args: object) -> None:
        self.requests.append(self.path)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A server's URL, and the folder that it serves."""
    folder = tmp_path / "home"
    folder.mkdir()
    Quiet.requests.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", folder
        server.shutdown()


def toy(*urls: str, member: str | None = None, names: tuple[str, ...] = ("part.txt",)) -> Dataset:
    digest = hashlib.sha256(CONTENT).hexdigest()
    files = tuple(DataFile(name, digest, len(CONTENT), urls, member) for name in names)
    return Dataset("toy", "", "", "", "", files)


def everything_below(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def test_a_gzipped_file_is_kept_as_it_came(home: tuple[str, Path], tmp_path: Path) -> None:
    url, folder = home
    (folder / "part.txt.gz").write_bytes(gzip.compress(CONTENT))
    told: list[tuple[str, int, int | None]] = []
    paths = fetch(toy(f"{url}/part.txt.gz"), tmp_path / "data", progress=lambda *p: told.append(p))
    assert paths == [tmp_path / "data/toy/part.txt.gz"]
    assert paths[0].read_bytes() == (folder / "part.txt.gz").read_bytes()
    assert everything_below(tmp_path / "data") == ["toy", "toy/part.txt.gz"]
    size = paths[0].stat().st_size
    assert told[-1] == ("part.txt.gz", size, size)


def test_what_is_there_already_is_not_fetched_again(home: tuple[str, Path], tmp_path: Path) -> None:
    url, folder = home
    (folder / "part.txt").write_bytes(CONTENT)
    fetch(toy(f"{url}/part.txt"), tmp_path / "data")
    fetch(toy(f"{url}/part.txt"), tmp_path / "data")
    assert Quiet.requests == ["/part.txt"]


def test_a_corrupt_file_on_disk_is_replaced(home: tuple[str, Path], tmp_path: Path) -> None:
    url, folder = home
    (folder / "part.txt.gz").write_bytes(gzip.compress(CONTENT))
    (tmp_path / "data/toy").mkdir(parents=True)
    (tmp_path / "data/toy/part.txt").write_bytes(b"torn")
    fetch(toy(f"{url}/part.txt.gz"), tmp_path / "data")
    assert everything_below(tmp_path / "data") == ["toy", "toy/part.txt.gz"]


@pytest.mark.parametrize("content", [CONTENT[:-1], CONTENT + b"x", b"<html>moved</html>", b""])
def test_a_corrupt_download_leaves_nothing(home: tuple[str, Path], tmp_path: Path, content: bytes) -> None:
    url, folder = home
    (folder / "part.txt").write_bytes(content)
    with pytest.raises(DatasetCorrupt, match=r"'toy' could not be fetched: .*not the official|holds more"):
        fetch(toy(f"{url}/part.txt"), tmp_path / "data")
    assert everything_below(tmp_path / "data") == []


def test_the_mirror_serves_when_the_home_does_not(home: tuple[str, Path], tmp_path: Path) -> None:
    url, folder = home
    (folder / "broken.txt").write_bytes(b"moved")
    (folder / "part.txt").write_bytes(CONTENT)
    fetch(toy(f"{url}/gone.txt", f"{url}/broken.txt", f"{url}/part.txt"), tmp_path / "data")
    assert (tmp_path / "data/toy/part.txt").read_bytes() == CONTENT


def test_no_source_at_all_is_told_with_every_reason(home: tuple[str, Path], tmp_path: Path) -> None:
    url, _ = home
    with pytest.raises(DownloadFailed, match=r"one\.txt: .*404.*two\.txt: .*404"):
        fetch(toy(f"{url}/one.txt", f"{url}/two.txt"), tmp_path / "data")


def archive(folder: Path, member: str) -> None:
    with tarfile.open(folder / "all.tgz", "w:gz") as tar:
        info = tarfile.TarInfo(member)
        info.size = len(CONTENT)
        tar.addfile(info, io.BytesIO(CONTENT))


def test_members_of_one_archive_cost_one_download(home: tuple[str, Path], tmp_path: Path) -> None:
    url, folder = home
    archive(folder, "./all/data/part.txt")
    dataset = toy(f"{url}/all.tgz", member="all/data/part.txt", names=("a.txt", "b.txt"))
    paths = fetch(dataset, tmp_path / "data")
    assert [path.read_bytes() for path in paths] == [CONTENT, CONTENT]
    assert Quiet.requests == ["/all.tgz"]
    assert everything_below(tmp_path / "data") == ["toy", "toy/a.txt", "toy/b.txt"]


def test_an_archive_without_the_member_leaves_nothing(home: tuple[str, Path], tmp_path: Path) -> None:
    url, folder = home
    archive(folder, "../../part.txt")
    with pytest.raises(DatasetCorrupt, match=r"all\.tgz has no all/part\.txt"):
        fetch(toy(f"{url}/all.tgz", member="all/part.txt"), tmp_path / "data")
    assert everything_below(tmp_path / "data") == []


def test_a_bundled_data_set_has_nothing_to_fetch(tmp_path: Path) -> None:
    assert fetch(replace(toy(), files=()), tmp_path / "data") == []
