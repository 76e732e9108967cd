"""Files of a run are stored whole or not at all, in every kind of store."""

import os
import secrets
import tempfile
import threading
from pathlib import Path
from typing import Any, ClassVar

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem
from fsspec.registry import _registry

from service.artifacts import CHUNK, Artifact, Artifacts
from service.errors import NotFound


@pytest.fixture(params=["directory", "file URL", "memory"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return {
        "directory": str(tmp_path / "artifacts"),
        "file URL": f"file://{tmp_path / 'artifacts'}",
        "memory": f"memory://test-{secrets.token_hex(8)}",
    }[request.param]


def test_written_files_are_read_back_and_listed_by_name(url: str) -> None:
    store = Artifacts(url)
    assert store.list("run_1") == []
    model = os.urandom(3 * CHUNK + 17)
    store.write("run_1", 1, "model.pt", model)
    store.write("run_1", 1, "environment.json", b"{}")
    store.write("run_2", 1, "model.pt", b"another")
    again = Artifacts(url + "/")
    assert again.read("run_1", 1, "model.pt") == model
    assert again.list("run_1") == [Artifact(1, "environment.json", 2), Artifact(1, "model.pt", len(model))]
    assert [len(piece) for piece in again.stream("run_1", 1, "model.pt")] == [CHUNK, CHUNK, CHUNK, 17]


def test_a_file_where_the_runs_folder_should_be_is_trouble_and_not_an_empty_run(tmp_path: Path) -> None:
    (tmp_path / "run_1").write_bytes(b"in the way")
    with pytest.raises(NotADirectoryError, match="run_1"):
        Artifacts(str(tmp_path)).list("run_1")


def test_a_second_write_replaces_a_file_and_remove_deletes_it(url: str) -> None:
    store = Artifacts(url)
    store.write("run_1", 1, "checkpoint.pt", b"first, and longer")
    store.write("run_1", 1, "checkpoint.pt", b"second")
    assert store.read("run_1", 1, "checkpoint.pt") == b"second"
    store.remove("run_1", 1, "checkpoint.pt")
    store.remove("run_1", 1, "checkpoint.pt")
    assert store.list("run_1") == []
    with pytest.raises(NotFound, match=r"checkpoint\.pt"):
        store.read("run_1", 1, "checkpoint.pt")


def test_an_empty_file_is_a_file(url: str) -> None:
    store = Artifacts(url)
    store.write("run_1", 1, "empty", b"")
    assert store.read("run_1", 1, "empty") == b""
    assert store.list("run_1") == [Artifact(1, "empty", 0)]


def test_a_file_of_another_process_is_seen_at_once(url: str) -> None:
    ours, theirs = Artifacts(url), Artifacts(url)
    assert ours.list("run_1") == []
    theirs.write("run_1", 1, "model.pt", b"model")
    assert [artifact.name for artifact in ours.list("run_1")] == ["model.pt"]


def test_figures_lie_in_a_folder_of_their_attempt(url: str) -> None:
    store = Artifacts(url)
    store.write("run_1", 1, "figures/curve.json", b"{}")
    store.write("run_1", 2, "figures/curve.json", b"[1]")
    store.write("run_1", 2, "model.pt", b"model")
    assert store.list("run_1") == [
        Artifact(1, "figures/curve.json", 2),
        Artifact(2, "figures/curve.json", 3),
        Artifact(2, "model.pt", 5),
    ]
    assert Artifacts(url).read("run_1", 2, "figures/curve.json") == b"[1]"
    assert store.version("run_1", 1, "figures/curve.json") != store.version("run_1", 2, "figures/curve.json")
    store.remove("run_1", 2, "figures/curve.json")
    assert [artifact.attempt for artifact in store.list("run_1")] == [1, 2]


@pytest.mark.parametrize(
    "name",
    [
        *("..", ".hidden", "a/b", "/a", "", "a\n", "a b", "ä", "a" * 129, "a\0b"),
        *("figures", "figures/", "figures/..", "figures/.hidden", "figures/a/b", "figures/figures/a", "Figures/a"),
    ],
)
def test_an_unknown_name_is_not_found(url: str, name: str) -> None:
    store = Artifacts(url)
    for refuse in (store.read, store.stream, store.remove):
        with pytest.raises(NotFound):
            refuse("run_1", 1, name)
    with pytest.raises(NotFound):
        store.write("run_1", 1, name, b"x")


def test_a_writable_store_is_left_as_it_was(url: str) -> None:
    store = Artifacts(url)
    store.check_writable()
    store.check_writable()
    folder = Path(url.removeprefix("file://"))
    assert url.startswith("memory") or list(folder.iterdir()) == []


def test_a_store_below_a_file_is_not_writable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(OSError, match="file"):
        Artifacts(str(tmp_path / "file" / "artifacts")).check_writable()


def test_processes_that_check_at_the_same_time_do_not_disturb_each_other(tmp_path: Path) -> None:
    ready = threading.Barrier(6)
    errors: list[Exception] = []

    def check() -> None:
        ready.wait()
        try:
            for _ in range(20):
                Artifacts(str(tmp_path / "artifacts")).check_writable()
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=check) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert list((tmp_path / "artifacts").iterdir()) == []


def test_a_file_is_written_in_the_store_and_not_in_the_temporary_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "no such directory"))
    store = Artifacts(str(tmp_path / "artifacts"))
    store.write("run_1", 1, "checkpoint.pt", b"checkpoint")
    assert store.read("run_1", 1, "checkpoint.pt") == b"checkpoint"
    assert [path.name for path in (tmp_path / "artifacts" / "run_1").iterdir()] == ["1.checkpoint.pt"]


def test_a_reader_sees_the_old_file_or_the_new_file_but_no_mixture(tmp_path: Path) -> None:
    store = Artifacts(str(tmp_path / "artifacts"))
    contents = [bytes([k]) * 400_000 for k in range(30)]
    store.write("run_1", 1, "checkpoint.pt", contents[0])
    seen: set[bytes] = set()
    done = threading.Event()

    def read() -> None:
        reader = Artifacts(str(tmp_path / "artifacts"))
        while not done.is_set():
            seen.add(reader.read("run_1", 1, "checkpoint.pt"))

    thread = threading.Thread(target=read)
    thread.start()
    for content in contents:
        store.write("run_1", 1, "checkpoint.pt", content)
    done.set()
    thread.join()
    assert seen
    assert seen <= set(contents)


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Artifacts(str(tmp_path / "artifacts"))
    store.write("run_1", 1, "checkpoint.pt", b"old")

    def full(source: object, target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="No space"):
        store.write("run_1", 1, "checkpoint.pt", b"new")
    assert store.read("run_1", 1, "checkpoint.pt") == b"old"
    assert [path.name for path in (tmp_path / "artifacts" / "run_1").iterdir()] == ["1.checkpoint.pt"]


def test_attempts_do_not_touch_each_others_files(url: str) -> None:
    store = Artifacts(url)
    for attempt in (1, 2, 10):
        store.write("run_1", attempt, "model.pt", f"of attempt {attempt}".encode())
    assert store.list("run_1") == [
        Artifact(attempt, "model.pt", len(f"of attempt {attempt}")) for attempt in (1, 2, 10)
    ]
    store.remove("run_1", 1, "model.pt")
    assert store.read("run_1", 10, "model.pt") == b"of attempt 10"
    with pytest.raises(NotFound):
        store.read("run_1", 1, "model.pt")


@pytest.mark.parametrize(
    ("start", "length", "expected"), [(2, 3, b"234"), (8, 9, b"89"), (0, 0, b""), (5, None, b"56789")]
)
def test_a_part_of_a_file_can_be_read(url: str, start: int, length: int | None, expected: bytes) -> None:
    store = Artifacts(url)
    store.write("run_1", 1, "digits", b"0123456789")
    assert b"".join(store.stream("run_1", 1, "digits", start=start, length=length)) == expected


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Calls of sync, by the last part of the file's name, and the time of each rename."""
    done: list[str] = []
    fsync, replace = os.fsync, os.replace

    def noted_fsync(descriptor: int) -> None:
        done.append(f"synced {os.readlink(f'/proc/self/fd/{descriptor}').rpartition('/')[2].rpartition('.')[2]}")
        fsync(descriptor)

    def noted_replace(source: Path, target: Path) -> None:
        done.append("renamed")
        replace(source, target)

    monkeypatch.setattr(os, "fsync", noted_fsync)
    monkeypatch.setattr(os, "replace", noted_replace)
    return done


def test_a_file_and_its_folder_are_on_the_disk_before_the_write_returns(tmp_path: Path, done: list[str]) -> None:
    Artifacts(str(tmp_path / "artifacts")).write("run_1", 1, "model.pt", b"x")
    assert done == ["synced artifacts", f"synced {tmp_path.name}", "synced part", "renamed", "synced run_1"]


def test_a_folder_that_a_killed_writer_left_is_synced_to_the_disk(tmp_path: Path, done: list[str]) -> None:
    (tmp_path / "artifacts" / "run_1").mkdir(parents=True)
    Artifacts(str(tmp_path / "artifacts")).write("run_1", 2, "model.pt", b"x")
    assert done[0] == "synced artifacts"


@pytest.mark.parametrize("made", [False, True])
def test_the_folder_of_a_store_is_on_the_disk_after_its_check(tmp_path: Path, done: list[str], made: bool) -> None:
    store = tmp_path / "data" / "artifacts"
    if made:
        store.mkdir(parents=True)
    Artifacts(str(store)).check_writable()
    assert done[:2] == ["synced data", "synced artifacts" if made else f"synced {tmp_path.name}"]


def test_a_store_may_be_in_a_folder_that_is_not_ours_to_read(
    tmp_path: Path, done: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, access = tmp_path / "theirs" / "artifacts", os.access
    store.mkdir(parents=True)
    monkeypatch.setattr(os, "access", lambda path, mode: path != store.parent and access(path, mode))
    Artifacts(str(store)).check_writable()
    assert done[0] == "synced artifacts"


class Bucket(MemoryFileSystem):  # type: ignore[misc]
    """A stand-in for Amazon's S3, which shows how it is configured."""

    protocol = ("s3", "s3a")
    cachable = False
    given: ClassVar[dict[str, Any]] = {}

    def __init__(self, **options: Any) -> None:
        super().__init__()
        Bucket.given = options


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> None:
    for protocol in Bucket.protocol:
        monkeypatch.setitem(_registry, protocol, Bucket)


@pytest.mark.usefixtures("bucket")
@pytest.mark.parametrize("protocol", ["s3", "s3a"])
def test_settings_of_s3_by_the_user_override_our_time_limits(protocol: str, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = {"connect_timeout": 10.0, "read_timeout": 30.0, "retries": {"total_max_attempts": 2}}
    Artifacts(f"{protocol}://bucket/runs")
    assert Bucket.given == {"config_kwargs": limits}
    own = {"read_timeout": 90, "proxies": {"https": "http://proxy:3128"}}
    monkeypatch.setitem(fsspec.config.conf, protocol, {"config_kwargs": own, "anon": True})
    Artifacts(f"{protocol}://bucket/runs")
    assert Bucket.given == {"config_kwargs": {**limits, **own}, "anon": True}
