"""Fetching leaves either the official files or no files."""

import gzip
import hashlib
import io
import multiprocessing
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from normcore.data.registry import DataFile, Dataset, DatasetCorrupt, DownloadFailed, fetch
from tests.normcore.data.file_server import FileServer, serving

CONTENT = b"official content" * 1000


class Quiet(SimpleHTTPRequestHandler):
    requests: list[str] = []  # noqa: RUF012

    def log_message(self, format: str, *args: object) -> None:
        self.requests.append(self.path)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """URL of a server, and the folder that it serves."""
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


def test_existing_file_is_not_fetched_again(home: tuple[str, Path], tmp_path: Path) -> None:
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
def test_corrupt_download_leaves_no_file(home: tuple[str, Path], tmp_path: Path, content: bytes) -> None:
    url, folder = home
    (folder / "part.txt").write_bytes(content)
    with pytest.raises(
        DatasetCorrupt, match=r"'toy' could not be fetched: .*part\.txt (has \d+,?\d* of 16,000 bytes|holds more)"
    ):
        fetch(toy(f"{url}/part.txt"), tmp_path / "data")
    assert everything_below(tmp_path / "data") == []


def test_mirror_is_used_when_the_home_fails(home: tuple[str, Path], tmp_path: Path) -> None:
    url, folder = home
    (folder / "broken.txt").write_bytes(b"moved")
    (folder / "part.txt").write_bytes(CONTENT)
    fetch(toy(f"{url}/gone.txt", f"{url}/broken.txt", f"{url}/part.txt"), tmp_path / "data")
    assert (tmp_path / "data/toy/part.txt").read_bytes() == CONTENT


def test_failure_of_all_sources_is_reported_with_every_reason(home: tuple[str, Path], tmp_path: Path) -> None:
    url, _ = home
    with pytest.raises(DownloadFailed, match=r"one\.txt: .*404.*two\.txt: .*404"):
        fetch(toy(f"{url}/one.txt", f"{url}/two.txt"), tmp_path / "data")


def archive(folder: Path, member: str) -> None:
    with tarfile.open(folder / "all.tgz", "w:gz") as tar:
        info = tarfile.TarInfo(member)
        info.size = len(CONTENT)
        tar.addfile(info, io.BytesIO(CONTENT))


def test_members_of_an_archive_need_a_single_download(home: tuple[str, Path], tmp_path: Path) -> None:
    url, folder = home
    archive(folder, "./all/data/part.txt")
    dataset = toy(f"{url}/all.tgz", member="all/data/part.txt", names=("a.txt", "b.txt"))
    paths = fetch(dataset, tmp_path / "data")
    assert [path.read_bytes() for path in paths] == [CONTENT, CONTENT]
    assert Quiet.requests == ["/all.tgz"]
    assert everything_below(tmp_path / "data") == ["toy", "toy/a.txt", "toy/b.txt"]


def test_a_bundled_data_set_has_nothing_to_fetch(tmp_path: Path) -> None:
    assert fetch(replace(toy(), files=()), tmp_path / "data") == []


def zipped(folder: Path, content: bytes = CONTENT) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / "all.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("all/part.txt", content)
    return folder / "all.zip"


def test_a_member_that_is_too_long_is_refused_before_it_fills_the_disk(home: tuple[str, Path], tmp_path: Path) -> None:
    url, folder = home
    zipped(folder, bytes(5 << 20))
    with pytest.raises(DatasetCorrupt, match=r"all/part\.txt in all\.zip holds more than 16,000 bytes"):
        fetch(toy(f"{url}/all.zip", member="all/part.txt"), tmp_path / "data")
    assert everything_below(tmp_path / "data") == []


def test_an_archive_put_there_by_hand_is_unpacked_and_kept(home: tuple[str, Path], tmp_path: Path) -> None:
    url, _ = home
    zipped(tmp_path / "data/toy")
    fetch(toy(f"{url}/all.zip", member="all/part.txt"), tmp_path / "data")
    assert everything_below(tmp_path / "data") == ["toy", "toy/all.zip", "toy/part.txt"]
    assert Quiet.requests == []


def test_corrupt_archive_put_there_by_hand_is_reported_and_fetched_anew(home: tuple[str, Path], tmp_path: Path) -> None:
    url, folder = home
    zipped(tmp_path / "data/toy", b"other")
    dataset = toy(f"{url}/all.zip", member="all/part.txt")
    with pytest.raises(DatasetCorrupt, match=r"part\.txt has 5 of 16,000 bytes.*404"):
        fetch(dataset, tmp_path / "data")
    zipped(folder)
    assert fetch(dataset, tmp_path / "data")[0].read_bytes() == CONTENT


def test_a_data_set_is_kept_in_its_folder(home: tuple[str, Path], tmp_path: Path) -> None:
    url, folder = home
    (folder / "part.txt").write_bytes(CONTENT)
    dataset = replace(toy(f"{url}/part.txt"), stored_in="toys")
    assert fetch(dataset, tmp_path / "data") == [tmp_path / "data/toys/part.txt"]
    assert everything_below(tmp_path / "data") == ["toys", "toys/part.txt"]


def test_a_file_without_an_address_is_put_there_by_hand(tmp_path: Path) -> None:
    with pytest.raises(DownloadFailed, match=r"part\.txt has no public address; to add it by hand, .* into .*/toy$"):
        fetch(toy(), tmp_path / "data")
    (tmp_path / "data/toy").mkdir()
    (tmp_path / "data/toy/part.txt").write_bytes(CONTENT)
    assert fetch(toy(), tmp_path / "data") == [tmp_path / "data/toy/part.txt"]


def test_interrupted_fetch_is_continued_by_the_next_fetch(tmp_path: Path) -> None:
    with serving(FileServer(CONTENT, breaks_after=6000)) as server:
        dataset = toy(server.url)
        with pytest.raises(DownloadFailed, match=r"broke after 6,000 of 16,000 bytes \(6,000 bytes are kept"):
            fetch(dataset, tmp_path / "data")
        assert everything_below(tmp_path / "data") == [
            "toy.part",
            "toy.part/file.bin.part",
            "toy.part/file.bin.part.json",
        ]
        server.breaks_after = None
        assert fetch(dataset, tmp_path / "data")[0].read_bytes() == CONTENT
        assert server.asked == [(None, None), ("bytes=6000-", '"1"')]
    assert everything_below(tmp_path / "data") == ["toy", "toy/part.txt"]


def test_file_that_changed_unnoticed_is_fetched_again_from_its_start(tmp_path: Path) -> None:
    with serving(FileServer(CONTENT[::-1], validators={}, breaks_after=6000)) as server:
        dataset = toy(server.url)
        with pytest.raises(DownloadFailed):
            fetch(dataset, tmp_path / "data")
        server.content, server.breaks_after = CONTENT, None
        assert fetch(dataset, tmp_path / "data")[0].read_bytes() == CONTENT
        assert [asked for asked, _ in server.asked] == [None, "bytes=6000-", None]


def test_corrupt_complete_file_is_not_fetched_repeatedly(tmp_path: Path) -> None:
    with serving(FileServer(CONTENT[::-1], breaks_after=6000)) as server:
        dataset = toy(server.url)
        with pytest.raises(DownloadFailed):
            fetch(dataset, tmp_path / "data")
        server.breaks_after = None
        with pytest.raises(DatasetCorrupt, match="is not the genuine file"):
            fetch(dataset, tmp_path / "data")
        assert [asked for asked, _ in server.asked] == [None, "bytes=6000-", None]
    assert everything_below(tmp_path / "data") == []


def test_a_corrupt_archive_is_downloaded_once_for_all_its_members(home: tuple[str, Path], tmp_path: Path) -> None:
    url, folder = home
    (folder / "all.tgz").write_bytes(b"<html>moved</html>")
    dataset = toy(f"{url}/all.tgz", member="all/part.txt", names=("a.txt", "b.txt"))
    with pytest.raises(DatasetCorrupt) as caught:
        fetch(dataset, tmp_path / "data")
    assert str(caught.value).count("all.tgz is not a readable archive") == 1
    assert Quiet.requests == ["/all.tgz"]
    assert everything_below(tmp_path / "data") == []


def test_unavailable_archive_is_requested_once(tmp_path: Path) -> None:
    with serving(FileServer(CONTENT, breaks_after=6000)) as server:
        with pytest.raises(DownloadFailed) as caught:
            fetch(toy(server.url, member="all/part.txt", names=("a.txt", "b.txt")), tmp_path / "data")
        assert str(caught.value).count("the connection broke") == 1
        assert len(server.asked) == 1


def test_available_files_are_fetched_when_others_fail(home: tuple[str, Path], tmp_path: Path) -> None:
    url, folder = home
    (folder / "good.txt").write_bytes(CONTENT)
    good, bad = toy(f"{url}/good.txt", names=("good.txt",)), toy(f"{url}/gone.txt", names=("gone.txt",))
    with pytest.raises(DownloadFailed, match=r"gone\.txt: .*404"):
        fetch(replace(good, files=(*bad.files, *good.files)), tmp_path / "data")
    assert everything_below(tmp_path / "data") == ["toy", "toy/good.txt"]


def test_a_second_process_does_not_write_into_the_same_download(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    with serving(FileServer(CONTENT)) as server:
        dataset, told = toy(server.url), []

        def meanwhile(name: str, done: int, total: int | None) -> None:
            told.append(context.Queue())
            other = context.Process(target=fetch_and_tell, args=(dataset, tmp_path / "data", told[-1]))
            other.start()
            assert "'toy' is being fetched by another process" in told[-1].get(timeout=60)
            other.join()

        assert fetch(dataset, tmp_path / "data", meanwhile)[0].read_bytes() == CONTENT
    assert len(told) == len(server.asked) == 1


def fetch_and_tell(dataset: Dataset, datasets_dir: Path, told: "multiprocessing.Queue[str]") -> None:
    try:
        fetch(dataset, datasets_dir)
    except DownloadFailed as error:
        told.put(str(error))
    else:
        told.put("fetched")
