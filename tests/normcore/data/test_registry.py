"""Files are used only if they have the official content. An error about a missing file says how to get it."""

import gzip
import hashlib
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest

from normcore.data import registry, text
from normcore.data.registry import DATASETS, DataFile, Dataset, DatasetCorrupt, DatasetMissing, pin
from normcore.data.text8 import PREFIX_SPLIT, TEXT8_SPLIT
from normcore.spec import ExperimentSpec, InvalidSpec, SpecError, resolve
from normcore.spec.task import Need
from normcore.spec.tasks.char_lm import CharLM
from normcore.spec.tasks.pixels import PermutedDigits
from tests.normcore.training_specs import training_spec

CONTENT = b"official content" * 100
TOY = Dataset(
    name="toy",
    title="",
    citation="",
    licence="",
    homepage="",
    files=(DataFile("part.txt", hashlib.sha256(CONTENT).hexdigest(), len(CONTENT), ("http://localhost/",)),),
)


def put(datasets_dir: Path, name: str, content: bytes) -> Path:
    path = datasets_dir / "toy" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def test_a_bundled_data_set_needs_no_directory() -> None:
    assert registry.status(DATASETS["digits"], None) == "bundled"
    assert registry.status(DATASETS["pydoc"], None) == "bundled"


@pytest.mark.parametrize(
    ("name", "content", "status"),
    [
        ("part.txt", CONTENT, "present"),
        ("part.txt.gz", gzip.compress(CONTENT, mtime=0), "present"),
        ("part.txt", CONTENT[:-1], "corrupt"),
        ("part.txt.gz", CONTENT, "corrupt"),
        ("other.txt", CONTENT, "missing"),
    ],
)
def test_the_status_follows_the_uncompressed_content(tmp_path: Path, name: str, content: bytes, status: str) -> None:
    put(tmp_path, name, content)
    assert registry.status(TOY, tmp_path) == status


def test_content_is_read_uncompressed(tmp_path: Path) -> None:
    put(tmp_path, "part.txt.gz", gzip.compress(CONTENT))
    assert registry.read_bytes(TOY, "part.txt", tmp_path) == CONTENT


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("part.txt.gz", gzip.compress(CONTENT, mtime=0)[:-9], "cannot be read: .*"),
        ("part.txt.gz", gzip.compress(CONTENT[::-1], mtime=0), r"is not the genuine file \(its SHA-256 differs\)"),
        ("part.txt", b"other", r"holds other\.txt instead of part\.txt; the files were mixed up"),
        ("part.txt", CONTENT[:-600], "has 1,000 of 1,600 bytes; it was cut short, or is another file"),
        ("part.txt", CONTENT + b"x", "holds more than 1,600 bytes"),
    ],
)
def test_file_with_other_content_is_refused_with_its_name_and_the_repair(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    other = DataFile("other.txt", hashlib.sha256(b"other").hexdigest(), 5, ("http://localhost/",))
    two = replace(TOY, files=(*TOY.files, other))
    path = put(tmp_path, name, content)
    told = rf"^data set 'toy': {path} {message}; remove it, then: normbench data fetch toy$"
    for check in (lambda: registry.verify(two, tmp_path), lambda: registry.read_bytes(two, "part.txt", tmp_path)):
        with pytest.raises(DatasetCorrupt, match=told):
            check()


def test_file_that_breaks_before_its_digest_is_taken_is_refused_with_its_name_and_the_repair(tmp_path: Path) -> None:
    path = put(tmp_path, "part.txt.gz", gzip.compress(CONTENT, mtime=0)[:-9])
    told = rf"^data set 'toy': {path} cannot be read: .*; remove it, then: normbench data fetch toy$"
    with pytest.raises(DatasetCorrupt, match=told):
        registry.present_checksums(TOY, tmp_path)


def test_changed_file_is_noticed_after_it_was_verified(tmp_path: Path) -> None:
    path = put(tmp_path, "part.txt", CONTENT)
    assert registry.status(TOY, tmp_path) == "present"
    path.write_bytes(CONTENT[::-1])
    assert registry.status(TOY, tmp_path) == "corrupt"


def test_unchanged_file_is_not_read_for_a_second_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path, "part.txt", CONTENT)
    registry.verify(TOY, tmp_path)
    monkeypatch.setattr("normcore.data.files.chunks", lambda *_: pytest.fail("read again"))
    registry.verify(TOY, tmp_path)


TEXT = b"To be, or not to be, that is the question. " * 100


def spec_with_text(**task: object) -> ExperimentSpec:
    return resolve({"task": {"name": "char_lm", "profile": "smoke", "corpus": "file", "file": "my/text.txt", **task}})


def test_pinning_fills_in_the_digest_of_the_uncompressed_text(tmp_path: Path) -> None:
    put(tmp_path, "text.gz", gzip.compress(TEXT))
    plain = pin(spec_with_text(file="toy/text.gz"), tmp_path)
    assert plain.task.model_dump()["sha256"] == hashlib.sha256(TEXT).hexdigest()
    assert pin(plain, tmp_path) == plain


def test_pinning_refuses_a_text_with_another_digest(tmp_path: Path) -> None:
    put(tmp_path, "text.txt", TEXT)
    with pytest.raises(DatasetCorrupt, match=r"asks for 0000.*; leave sha256 out, or put the text with") as caught:
        pin(spec_with_text(file="toy/text.txt", sha256="0" * 64), tmp_path)
    assert caught.value.field == ("task", "sha256")


def test_a_link_may_not_lead_out_of_the_data_sets_directory(tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "secret.txt").write_bytes(TEXT)
    (inside / "link.txt").symlink_to(tmp_path / "secret.txt")
    with pytest.raises(DatasetMissing, match="lies outside"):
        pin(spec_with_text(file="link.txt"), inside)


def test_link_within_the_data_directory_is_followed(tmp_path: Path) -> None:
    put(tmp_path, "text.txt", TEXT)
    (tmp_path / "link.txt").symlink_to(tmp_path / "toy" / "text.txt")
    assert pin(spec_with_text(file="link.txt"), tmp_path).task.model_dump()["sha256"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"too short", "has 9 characters; use 200 or more"),
        ("".join(map(chr, range(300, 10_301))).encode(), "10,001 different characters; use 10,000 at most"),
        (b"x" * (1 << 20) + "é".encode() + b"\xff", r"is not UTF-8 \(byte 1,048,578\)"),
        (b"x" * ((1 << 20) - 1) + b"\xc3x", r"is not UTF-8 \(byte 1,048,575\)"),
        (b"x" * 300 + b"\xc3", r"is not UTF-8 \(byte 300\)"),
        (gzip.compress(TEXT, mtime=0), "is not UTF-8"),
        (b"x" * 5000, "text 'toy/mine.txt' has one character, over and over; use a text with two or more"),
        (("é" * 1_000_000).encode(), "one character, over and over; use"),
        (b"x" * 900 + b"yz" * 50, r"one character, over and over, in its training part \(the first 90%\); use"),
        (b"x" * 1_800_000 + b"y" * 200_000, "one character, over and over, in its training part"),
    ],
)
def test_pinning_refuses_a_text_that_cannot_be_trained_on(tmp_path: Path, content: bytes, message: str) -> None:
    put(tmp_path, "mine.txt", content)
    with pytest.raises(DatasetCorrupt, match=message):
        pin(spec_with_text(file="toy/mine.txt"), tmp_path)


@pytest.mark.parametrize("content", [b"x" * 899 + b"y" * 101, b"x" * 1_799_999 + b"y" * 200_001, b"xy" + b"x" * 998])
def test_training_text_of_two_characters_is_accepted(tmp_path: Path, content: bytes) -> None:
    put(tmp_path, "mine.txt", content)
    pin(spec_with_text(file="toy/mine.txt"), tmp_path)
    text.load(CharLM(corpus="file", file="toy/mine.txt"), tmp_path)


@pytest.mark.parametrize(("length", "fits"), [(107, True), (108, False)])
def test_a_text_must_hold_enough_examples(tmp_path: Path, length: int, fits: bool) -> None:
    """A text of 4,300 characters has 215 characters for validation."""
    put(tmp_path, "text.txt", TEXT)
    spec = spec_with_text(file="toy/text.txt", sequence_length=length, valid_chars=None, test_chars=None)
    if fits:
        pin(spec, tmp_path)
        return
    with pytest.raises(InvalidSpec, match=r"task\.sequence_length: 108 characters are too many for 3,870 of training"):
        pin(spec, tmp_path)


def test_example_too_long_for_the_text_of_pydoc_is_refused() -> None:
    whole = {"valid_chars": None, "test_chars": None}
    with pytest.raises(InvalidSpec, match=r"task\.sequence_length: 90,000 characters are too many"):
        pin(resolve({"task": {"name": "char_lm", "sequence_length": 90_000, **whole}}), None)


@pytest.mark.parametrize(
    ("corpus", "train", "valid"),
    [
        ("ptb", text.PTB_CHARACTERS["train"], text.PTB_CHARACTERS["valid"]),
        ("text8", TEXT8_SPLIT[0], TEXT8_SPLIT[1] - TEXT8_SPLIT[0]),
        ("text8_prefix", PREFIX_SPLIT[0], PREFIX_SPLIT[1] - PREFIX_SPLIT[0]),
    ],
)
def test_longest_example_fits_the_other_corpora(corpus: str, train: int, valid: int) -> None:
    task = {"name": "char_lm", "corpus": corpus, "valid_chars": None, "test_chars": None}
    longest = training_spec({"task": {**task, "sequence_length": 100_000}}).task
    assert isinstance(longest, CharLM)
    longest.check_lengths(train, valid)
    with pytest.raises(InvalidSpec, match="less than or equal to 100000"):
        resolve({"task": {**task, "sequence_length": 100_001}})


def test_a_missing_data_set_says_its_name_the_place_and_how_to_get_it(tmp_path: Path) -> None:
    spec = resolve({"task": {"name": "permuted_mnist"}})
    with pytest.raises(DatasetMissing) as caught:
        pin(spec, tmp_path)
    for part in ("'mnist'", str(tmp_path / "mnist"), "normbench data fetch mnist"):
        assert part in str(caught.value)
    with pytest.raises(DatasetMissing, match="NORMBENCH_DATASETS_DIR"):
        pin(spec, None)


def test_the_registry_imports_neither_torch_nor_numpy() -> None:
    code = "import sys, normcore.data.registry; sys.exit(bool({'torch', 'numpy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("task", "field"),
    [
        ({"name": "permuted_mnist"}, ("task", "name")),
        ({"name": "char_lm", "corpus": "ptb"}, ("task", "corpus")),
        ({"name": "gradient_flow", "images": "mnist"}, ("task", "images")),
        ({"name": "char_lm", "corpus": "file", "file": "none.txt"}, ("task", "file")),
    ],
)
def test_an_error_about_data_names_the_field_that_asks_for_it(
    tmp_path: Path, task: dict[str, str], field: tuple[str, ...]
) -> None:
    with pytest.raises(DatasetMissing) as caught:
        pin(resolve({"task": task}), tmp_path)
    assert caught.value.field == field


class OfUnknownData(PermutedDigits):
    def needs(self) -> tuple[Need, ...]:
        return (Need("nowhere", "permutation_seed"),)


def test_task_that_asks_for_an_unknown_data_set_is_refused(tmp_path: Path) -> None:
    """The task is from another package. Its profiles are checked when it is read, its other options are not."""
    spec = training_spec({"task": {"name": "permuted_digits"}})
    with pytest.raises(InvalidSpec) as caught:
        pin(spec.model_copy(update={"task": OfUnknownData()}), tmp_path)
    told = "permuted_digits asks for the data set 'nowhere', which is not known; use another"
    assert caught.value.errors == [SpecError(("task", "permutation_seed"), told, "unknown_dataset")]


def test_problems_of_all_files_are_reported(tmp_path: Path) -> None:
    two = replace(TOY, files=(TOY.files[0], replace(TOY.files[0], name="other.txt")))
    put(tmp_path, "part.txt", CONTENT[:-1])
    corrupt, missing = registry.problems(two, tmp_path)
    assert isinstance(corrupt, DatasetCorrupt)
    assert isinstance(missing, DatasetMissing)
    assert registry.by_hand(two, tmp_path) == (
        f"to add it by hand, put part.txt, other.txt (as they are, or each with .gz) into {tmp_path / 'toy'}"
    )


def test_data_set_without_an_address_is_reported_with_its_folder(tmp_path: Path) -> None:
    prefix = DATASETS["text8_prefix"]
    (missing,) = registry.problems(prefix, tmp_path)
    assert str(missing) == (
        f"data set 'text8_prefix': text8_first_6877825.txt is not in {tmp_path / 'text8'};"
        " no public address has it, so copy it there"
    )
    assert registry.by_hand(prefix, tmp_path) == (
        f"to add it by hand, put text8_first_6877825.txt (as it is, or with .gz) into {tmp_path / 'text8'}"
    )


def test_archive_can_be_put_there_by_hand(tmp_path: Path) -> None:
    assert registry.by_hand(DATASETS["text8"], tmp_path) == (
        "to add it by hand, put text8 (as it is, or with .gz), or text8.zip for the next fetch to unpack, into"
        f" {tmp_path / 'text8'}"
    )


@pytest.mark.parametrize("dataset", DATASETS.values(), ids=DATASETS)
def test_every_data_set_is_described(dataset: Dataset) -> None:
    for told in (dataset.title, dataset.citation, dataset.licence, dataset.homepage):
        assert told
    assert len({file.name for file in dataset.files}) == len(dataset.files)
    known = [file for file in dataset.files if file.sha256]
    assert len({file.sha256 for file in known}) == len(known)
    for file in known:
        assert len(bytes.fromhex(file.sha256)) == 32
        assert file.size > 0
    if len(known) < len(dataset.files):
        assert "recorded" in dataset.description, "no digest is published of what is not public"
    if dataset.part_of is not None:
        assert "no published result" in dataset.description


def test_every_corpus_is_checked_and_loaded_by_a_closed_table() -> None:
    corpora = set(get_args(CharLM.model_fields["corpus"].annotation))
    assert set(registry.PINS) == set(text.LOADERS) == corpora
    unknown = CharLM.model_construct(corpus="text9")  # type: ignore[arg-type]  # a corpus that there is not
    with pytest.raises(KeyError, match="text9"):
        text.load(unknown, None)
