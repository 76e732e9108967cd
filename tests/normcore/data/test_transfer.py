"""An interrupted download continues where it stopped, and never joins two versions of a file."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from normcore.data.transfer import DownloadFailed, download
from tests.normcore.data.file_server import FileServer, serving

CONTENT = os.urandom(5000)
HALF = 2500


@pytest.fixture
def server() -> Iterator[FileServer]:
    with serving(FileServer(CONTENT)) as server:
        yield server


def interrupted(server: FileServer, folder: Path) -> None:
    """Download the first half of the file; then the connection breaks."""
    server.breaks_after = HALF
    with pytest.raises(DownloadFailed, match=r"broke after 2,500 of 5,000 bytes .*fetch again to go on from there"):
        download(server.url, folder)
    server.breaks_after = None
    server.asked.clear()


def test_interrupted_download_is_continued_by_the_next_download(server: FileServer, tmp_path: Path) -> None:
    interrupted(server, tmp_path)
    assert (tmp_path / "file.bin.part").read_bytes() == CONTENT[:HALF]
    assert not (tmp_path / "file.bin").exists()
    told: list[tuple[str, int, int | None]] = []
    path, resumed = download(server.url, tmp_path, lambda *news: told.append(news))
    assert (path, resumed) == (tmp_path / "file.bin", True)
    assert path.read_bytes() == CONTENT
    assert server.asked == [("bytes=2500-", '"1"')]
    assert told[-1] == ("file.bin", 5000, 5000)
    assert list(tmp_path.iterdir()) == [path]


def test_download_is_continued_after_several_interruptions(server: FileServer, tmp_path: Path) -> None:
    interrupted(server, tmp_path)
    server.breaks_after = 1000
    with pytest.raises(DownloadFailed, match="3,500 of 5,000 bytes"):
        download(server.url, tmp_path)
    server.breaks_after = None
    assert download(server.url, tmp_path)[0].read_bytes() == CONTENT
    assert [asked for asked, _ in server.asked] == ["bytes=2500-", "bytes=3500-"]


def test_a_server_without_ranges_sends_the_whole_file_again(server: FileServer, tmp_path: Path) -> None:
    interrupted(server, tmp_path)
    server.ranges = False
    path, resumed = download(server.url, tmp_path)
    assert path.read_bytes() == CONTENT
    assert not resumed
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("before", "after", "if_range"),
    [
        ({"ETag": '"1"'}, {"ETag": '"2"'}, '"1"'),
        ({"Last-Modified": "Mon, 01 Jan 2024 00:00:00 GMT"}, {"Last-Modified": "Tue"}, "Mon, 01 Jan 2024 00:00:00 GMT"),
        ({"ETag": 'W/"1"', "Last-Modified": "Mon"}, {"ETag": 'W/"2"', "Last-Modified": "Tue"}, "Mon"),
    ],
)
@pytest.mark.parametrize("heeds_if_range", [True, False])
def test_a_changed_file_is_downloaded_from_its_start(
    server: FileServer,
    tmp_path: Path,
    before: dict[str, str],
    after: dict[str, str],
    if_range: str,
    heeds_if_range: bool,
) -> None:
    server.validators, server.heeds_if_range = before, heeds_if_range
    interrupted(server, tmp_path)
    server.content, server.validators = CONTENT[::-1], after
    path, resumed = download(server.url, tmp_path)
    assert path.read_bytes() == CONTENT[::-1]
    assert not resumed
    assert server.asked[0] == ("bytes=2500-", if_range)
    assert server.asked[1:] == ([] if heeds_if_range else [(None, None)])


def test_part_without_validators_is_dropped_if_the_size_differs(server: FileServer, tmp_path: Path) -> None:
    server.validators = {}
    interrupted(server, tmp_path)
    server.content = CONTENT + b"more"
    assert download(server.url, tmp_path)[0].read_bytes() == CONTENT + b"more"
    assert server.asked == [("bytes=2500-", None), (None, None)]


def test_part_without_validators_is_continued_if_the_size_is_the_same(server: FileServer, tmp_path: Path) -> None:
    server.validators = {}
    interrupted(server, tmp_path)
    assert download(server.url, tmp_path) == (tmp_path / "file.bin", True)
    assert (tmp_path / "file.bin").read_bytes() == CONTENT
    assert server.asked == [("bytes=2500-", None)]


def test_part_that_begins_at_another_byte_is_not_joined(server: FileServer, tmp_path: Path) -> None:
    interrupted(server, tmp_path)
    server.starts_at = 2400
    assert download(server.url, tmp_path)[0].read_bytes() == CONTENT
    assert server.asked == [("bytes=2500-", '"1"'), (None, None)]


def test_a_part_that_is_longer_than_the_file_is_thrown_away(server: FileServer, tmp_path: Path) -> None:
    interrupted(server, tmp_path)
    (tmp_path / "file.bin.part").write_bytes(bytes(6000))
    assert download(server.url, tmp_path)[0].read_bytes() == CONTENT


@pytest.mark.parametrize("memo", [None, "", "{}", "[]", '{"url": 1}'])
def test_a_part_of_unknown_origin_is_thrown_away(server: FileServer, tmp_path: Path, memo: str | None) -> None:
    interrupted(server, tmp_path)
    (tmp_path / "file.bin.part").write_bytes(bytes(HALF))
    told = tmp_path / "file.bin.part.json"
    if memo is None:
        told.unlink()
    else:
        told.write_text(memo)
    assert download(server.url, tmp_path)[0].read_bytes() == CONTENT
    assert server.asked == [(None, None)]


def test_a_part_from_another_address_is_not_continued(server: FileServer, tmp_path: Path) -> None:
    interrupted(server, tmp_path)
    with serving(FileServer(CONTENT[::-1])) as mirror:
        assert download(mirror.url, tmp_path)[0].read_bytes() == CONTENT[::-1]
        assert mirror.asked == [(None, None)]


def test_a_part_survives_a_server_that_is_gone(server: FileServer, tmp_path: Path) -> None:
    interrupted(server, tmp_path)
    with pytest.raises(DownloadFailed, match="2,500 bytes are kept"):
        download("http://127.0.0.1:1/file.bin", tmp_path)
    assert download(server.url, tmp_path)[1]


def test_more_than_the_limit_is_refused_and_not_kept(
    server: FileServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("normcore.data.transfer.MAX_DOWNLOAD", 4999)
    with pytest.raises(DownloadFailed, match="more than 4,999 bytes"):
        download(server.url, tmp_path)
    assert not (tmp_path / "file.bin.part").exists()
