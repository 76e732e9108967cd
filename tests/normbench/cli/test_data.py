"""Data sets are listed, fetched and checked without a service."""

import json
import sys
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import pytest
from typer.testing import CliRunner

from normbench.cli import app
from normcore.data import registry
from service.settings import Settings
from tests.normbench.cli.commands import from_json, normbench
from tests.normbench.terminal import on_a_terminal
from tests.normcore.data.file_server import FileServer, serving
from tests.servers import free_port


def test_data_sets_are_listed_and_checked_without_a_service(nobody: None) -> None:
    listed = {item["name"]: item["status"] for item in from_json("data", "list")}
    assert set(listed) == set(registry.DATASETS)
    assert listed["digits"] == "bundled"
    assert listed["mnist"] == "missing"
    assert from_json("data", "verify", "digits") == {"verified": ["digits"], "problems": {}}
    assert from_json("data", "fetch", "digits") == {"fetched": {"digits": []}, "problems": {}}


@pytest.mark.parametrize("verb", ["verify", "fetch"])
def test_data_sets_that_cannot_be_fetched_are_named_with_the_place_for_their_files(
    nobody: None, settings: Settings, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    monkeypatch.setattr("urllib.request._opener", None)  # urllib keeps the proxies of its first call
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{free_port()}")  # nothing is downloaded in a test
    monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{free_port()}")
    corrupt = settings.datasets_dir / "mnist" / "train-images-idx3-ubyte"
    corrupt.parent.mkdir(parents=True)
    corrupt.write_bytes(b"x")
    told = normbench("data", verb, "mnist", "ptb", "digits", status=1)
    complaints = [line for line in told.splitlines() if line.startswith("normbench: ")]
    assert len(complaints) == 2, told
    for name, file in {"mnist": "t10k-labels-idx1-ubyte", "ptb": "ptb.char.valid.txt"}.items():
        assert any(f"'{name}'" in line for line in complaints), told
        by_hand = next(line for line in complaints if line.endswith(f"into {settings.datasets_dir / name}"))
        assert file in by_hand
    result = CliRunner().invoke(app, ["data", verb, "ptb", "digits", "--json"])
    assert result.exit_code == 1
    answer = json.loads(result.stdout)
    assert list(answer["problems"]) == ["ptb"]
    assert "digits" in answer["verified" if verb == "verify" else "fetched"]


def test_missing_files_are_named_together(nobody: None, settings: Settings) -> None:
    told = normbench("data", "verify", "mnist", status=1)
    names = ", ".join(file.name for file in registry.DATASETS["mnist"].files)
    assert f"'mnist': {names} are not in {settings.datasets_dir / 'mnist'}; get them with" in told
    assert told.count("normbench data fetch mnist") == 1


@pytest.mark.parametrize("below", ["", "mnist", "deeper/still"])
def test_a_folder_that_cannot_hold_data_sets_is_named_with_its_variable(
    nobody: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, below: str
) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"")
    folder = file / below
    monkeypatch.setenv("NORMBENCH_DATASETS_DIR", str(folder))
    told = normbench("data", "fetch", "digits", "mnist", status=1)
    assert told.startswith("normbench: data set 'mnist': ")
    assert "is no folder" in told
    assert f"kept in {folder}, set NORMBENCH_DATASETS_DIR" in told
    assert told.rstrip().endswith(f"into {folder / 'mnist'}")


def test_the_list_has_everything_that_the_registry_knows(nobody: None, settings: Settings) -> None:
    listed = {item["name"]: item for item in from_json("data", "list")}
    cifar10 = listed["cifar10"]
    assert cifar10["size"] == 184_380_000
    assert cifar10["folder"] == str(settings.datasets_dir / "cifar10")
    assert cifar10["homepage"] == "https://www.cs.toronto.edu/~kriz/cifar.html"
    assert cifar10["files"][5] == {
        "name": "test_batch.bin",
        "sha256": "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
        "size": 30_730_000,
        "urls": ["https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz"],
        "member": "cifar-10-batches-bin/test_batch.bin",
    }
    assert listed["text8_prefix"]["folder"] == str(settings.datasets_dir / "text8")
    assert "no published result" in listed["text8_prefix"]["description"]
    assert listed["digits"]["content_sha256"].startswith("65e5b461")
    assert listed["digits"]["folder"] is None


def test_size_and_licence_fit_a_terminal_of_80_columns(environment: dict[str, str]) -> None:
    given = {name: value for name, value in environment.items() if name != "COLUMNS"}
    shown = on_a_terminal([sys.executable, "-P", "-m", "normbench", "data", "list"], 80, given)
    assert max(map(len, shown.splitlines())) <= 80
    assert "Widen the terminal" not in shown
    (text8,) = (line for line in shown.splitlines() if line.startswith("text8 "))
    assert text8.split()[1:4] == ["missing", "100.0", "MB"]
    assert "CC BY-SA and GFDL" in text8


def test_a_named_data_set_is_shown_with_everything_known_about_it(nobody: None, settings: Settings) -> None:
    told = " ".join(normbench("data", "list", "cifar10").split())
    cifar10 = registry.DATASETS["cifar10"]
    for known in (cifar10.title, cifar10.description, cifar10.homepage, cifar10.citation, cifar10.licence):
        assert known in told
    for file in cifar10.files:
        digest_and_home = f"SHA-256 {file.sha256} from {' '.join(file.urls)} in it {file.member}"
        assert f"{file.name} size {file.size:,} bytes {digest_and_home}" in told
    assert "status missing" in told
    assert "size 184,380,000 bytes in 6 files" in told
    assert f"by hand put {cifar10.files[0].name}, " in told
    assert f"into {settings.datasets_dir / 'cifar10'}" in told
    assert "fetch normbench data fetch cifar10" in told
    assert "mnist" not in told


def test_several_named_data_sets_are_shown_in_the_order_asked_for(nobody: None) -> None:
    told = normbench("data", "list", "text8_prefix", "digits", "pydoc")
    places = [told.index(f"{name}\n") for name in ("text8_prefix", "digits", "pydoc")]
    assert places == sorted(places)
    prefix, digits, pydoc = (" ".join(told[a:b].split()) for a, b in zip(places, [*places[1:], None], strict=True))
    assert "from no public address" in prefix
    assert "data fetch" not in prefix
    assert "status bundled" in digits
    assert f"SHA-256 {registry.DATASETS['digits'].content_sha256}" in digits
    for bundled in (digits, pydoc):
        assert "by hand" not in bundled
        assert "size" not in bundled
    assert [item["name"] for item in from_json("data", "list", "ptb", "digits")] == ["ptb", "digits"]
    (everything,) = from_json("data", "list", "ptb")
    assert everything in from_json("data", "list")


def test_an_unknown_data_set_is_refused_with_the_known_names(nobody: None) -> None:
    result = CliRunner().invoke(app, ["data", "list", "mnist", "nmist"])
    assert result.exit_code == 2
    told = " ".join(result.stderr.replace("│", " ").split())
    assert f"unknown nmist; choose from {', '.join(registry.DATASETS)}" in told
    assert result.stdout == ""


def test_details_of_a_data_set_fit_80_columns_and_keep_digests_whole(environment: dict[str, str]) -> None:
    given = {name: value for name, value in environment.items() if name != "COLUMNS"}
    names = list(registry.DATASETS)
    shown = on_a_terminal([sys.executable, "-P", "-m", "normbench", "data", "list", *names], 80, given)
    lines = [line.strip() for line in shown.splitlines()]
    assert max(map(len, shown.splitlines())) <= 80
    for dataset in registry.DATASETS.values():
        for file in dataset.files:
            assert file.name in lines
            digest = file.sha256 or "not published; a run records the SHA-256 of your file"
            assert any(line.split(maxsplit=1) == ["SHA-256", digest] for line in lines)


CONTENT = b"official content" * 1000


def registered(monkeypatch: pytest.MonkeyPatch, name: str, url: str) -> None:
    file = registry.DataFile("part.txt", sha256(CONTENT).hexdigest(), len(CONTENT), (url,))
    monkeypatch.setitem(registry.DATASETS, name, registry.Dataset(name, name, "", "", "", (file,)))


def test_a_fetch_goes_on_where_the_last_one_stopped_and_the_others_are_fetched(
    nobody: None, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(FileServer(CONTENT, breaks_after=6000)) as broken, serving(FileServer(CONTENT)) as whole:
        registered(monkeypatch, "one", broken.url)
        registered(monkeypatch, "two", whole.url)
        told = normbench("data", "fetch", "one", "two", status=1)
        assert "'one' could not be fetched" in told
        assert "6,000 bytes are kept; fetch again to go on from there" in told
        assert (settings.datasets_dir / "two/part.txt").read_bytes() == CONTENT
        broken.breaks_after = None
        path = settings.datasets_dir / "one/part.txt"
        assert from_json("data", "fetch", "one") == {"fetched": {"one": [str(path)]}, "problems": {}}
        assert broken.asked[-1][0] == "bytes=6000-"
        assert path.read_bytes() == CONTENT
    assert from_json("data", "verify", "one", "two")["verified"] == ["one", "two"]


def test_a_data_set_without_an_address_fails_only_if_it_was_named(
    nobody: None, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = {"digits": registry.DATASETS["digits"], "text8_prefix": registry.DATASETS["text8_prefix"]}
    monkeypatch.setattr(registry, "DATASETS", kept)
    where = f"into {settings.datasets_dir / 'text8'}"
    told = normbench("data", "fetch", "text8_prefix", status=1)
    assert "text8_first_6877825.txt has no public address" in told
    assert told.rstrip().endswith(where)
    result = CliRunner().invoke(app, ["data", "fetch"])
    assert result.exit_code == 0
    assert result.stderr.startswith("note: data set 'text8_prefix' has no public address")
    assert result.stderr.rstrip().endswith(where)
    assert "digits: bundled" in result.stdout


def test_a_data_set_that_was_put_there_by_hand_counts_as_fetched(
    nobody: None, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = registry.DataFile("part.txt", sha256(CONTENT).hexdigest(), len(CONTENT))
    monkeypatch.setattr(registry, "DATASETS", {"toy": registry.Dataset("toy", "", "", "", "", (file,))})
    path = settings.datasets_dir / "toy/part.txt"
    path.parent.mkdir(parents=True)
    path.write_bytes(CONTENT)
    assert from_json("data", "fetch") == {"fetched": {"toy": [str(path)]}, "problems": {}}


def test_a_corrupt_file_is_named_before_anything_is_trained_on_it(
    nobody: None, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = replace(registry.DATASETS["text8_prefix"].files[0], size=200)
    monkeypatch.setitem(registry.DATASETS, "text8_prefix", replace(registry.DATASETS["text8_prefix"], files=(file,)))
    path = settings.datasets_dir / "text8" / file.name
    path.parent.mkdir(parents=True)
    path.write_bytes(b"x" * 150)
    told = normbench("data", "verify", "text8_prefix", status=1)
    assert f"{path} has 150 of 200 bytes; it was cut short, or is another file; replace it by a good copy" in told


FETCH = """
import sys
from normcore.data import registry
file = registry.DataFile("part.txt", sys.argv[2], int(sys.argv[3]), (sys.argv[1],))
registry.DATASETS["toy"] = registry.Dataset("toy", "", "", "", "", (file,))
from normbench.cli import app
app(["data", "fetch", "toy"])
"""


def test_a_download_has_a_bar_on_a_terminal(environment: dict[str, str]) -> None:
    with serving(FileServer(CONTENT)) as server:
        arguments = [server.url, sha256(CONTENT).hexdigest(), str(len(CONTENT))]
        shown = on_a_terminal([sys.executable, "-c", FETCH, *arguments], 80, environment)
    assert "file.bin" in shown
    assert "16.0/16.0 kB" in shown
    assert "part.txt" in shown.splitlines()[-1]
