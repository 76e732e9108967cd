"""Digests of the parts of a spec change with the code of these parts, and with no other code."""

import os
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import normcore
from normcore import own_code
from normcore.own_code import code_of, digests, find_last_change, parts_of, present_code
from normcore.spec import resolve
from normcore.spec.methods import METHODS

SPEC: dict[str, Any] = {"task": {"name": "permuted_digits", "profile": "smoke"}, "norm": {"method": "rms_norm"}}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copy of the project's sources that digests are computed from."""
    copy = tmp_path / "normcore"
    shutil.copytree(Path(normcore.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(normcore.__spec__, "submodule_search_locations", [str(copy)])
    return copy


def test_training_has_digests_of_four_parts_and_analysis_of_its_own_parts() -> None:
    assert parts_of(resolve(SPEC)).keys() == {"norm", "model", "task", "optimizer"}
    analysis = resolve({"task": {"name": "invariances"}, "norm": {"method": "rms_norm"}})
    assert parts_of(analysis).keys() == {"norm", "task"}
    assert all(len(digest or "") == 64 for digest in parts_of(resolve(SPEC)).values())


@pytest.mark.parametrize(
    ("file", "changed"),
    [
        ("norms/rms_norm.py", {"norm"}),
        ("spec/methods/rms_norm.py", {"norm"}),
        ("cells/lstm.py", {"model"}),
        ("spec/cells/lstm.py", {"model"}),
        ("training/optimizers/rmsprop.py", {"optimizer"}),
        ("tasks/pixel_sequences.py", {"task"}),
        ("spec/tasks/pixels.py", {"task"}),
        ("norms/layer_norm.py", set()),
        ("norms/normalization.py", set()),
        ("training/loop.py", set()),
    ],
)
def test_edit_changes_only_the_digests_of_its_parts(project: Path, file: str, changed: set[str]) -> None:
    before, one = parts_of(resolve(SPEC)), present_code(resolve(SPEC))
    with (project / file).open("a") as module:
        module.write("EDITED = True\n")
    after = parts_of(resolve(SPEC))
    assert {name for name in before if before[name] != after[name]} == changed
    assert (present_code(resolve(SPEC)) != one) == bool(changed)


@pytest.mark.parametrize(("model", "cell"), [("attentive_reader", "lstm"), ("draw", "lstm"), ("skip_thoughts", "gru")])
@pytest.mark.parametrize("folder", ["cells", "spec/cells"])
def test_edit_of_the_cell_inside_a_model_changes_the_digest_of_the_model(
    project: Path, model: str, cell: str, folder: str
) -> None:
    before = digests()["model"]
    with (project / folder / f"{cell}.py").open("a") as module:
        module.write("EDITED = True\n")
    after = digests()["model"]
    assert {before[model], before[cell]}.isdisjoint(after.values())
    assert before["rnn"] == after["rnn"]


@pytest.mark.parametrize("year", [1980, 2500])
def test_last_change_is_when_a_file_was_written_here_whatever_its_time_says(project: Path, year: int) -> None:
    """Archives and copies bring files with the times of another machine."""
    time.sleep(0.02)  # a tick of the file system, after the copies of the other files
    began = time.time() - 0.01
    os.utime(project / "norms/rms_norm.py", ((year - 1970) * 31_556_952,) * 2)
    assert began < find_last_change(resolve(SPEC)) < time.time() + 1


def test_a_comment_changes_no_digest(project: Path) -> None:
    before = parts_of(resolve(SPEC))
    with (project / "norms/rms_norm.py").open("a") as module:
        module.write("# said better\n")
    assert parts_of(resolve(SPEC)) == before


def test_environment_has_the_digest_of_the_present_code() -> None:
    code = code_of(resolve(SPEC))
    assert own_code.own_code({"code": code}) == present_code(resolve(SPEC))
    assert own_code.own_code({"torch": "2.9"}) is None


def test_every_tag_has_a_digest_of_its_own() -> None:
    found = digests()
    assert found["norm"].keys() == METHODS.keys()
    assert None not in {digest for tags in found.values() for digest in tags.values()}
    assert len(set(found["norm"].values())) == len(METHODS)
    assert found["norm"]["rms_norm"] == parts_of(resolve(SPEC))["norm"]


@pytest.fixture
def plug_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Package with a method, like one of a user."""
    package = tmp_path / "own_method"
    package.mkdir()
    (package / "__init__.py").write_text(
        "from typing import ClassVar, Literal\n"
        "from normcore.spec.methods.method import SiteMethod\n"
        "class OwnNorm(SiteMethod):\n"
        '    """Own."""\n'
        '    title: ClassVar[str] = "Own"\n'
        '    citation: ClassVar[str] = "here"\n'
        '    home: ClassVar[str] = "own_method.layers"\n'
        '    method: Literal["own_norm"] = "own_norm"\n'
    )
    (package / "layers.py").write_text("A = 1\n")
    (package / "formula.py").write_text("B = 1\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield package
    for name in [name for name in sys.modules if name.partition(".")[0] == "own_method"]:
        del sys.modules[name]


def test_digest_of_a_plug_in_covers_all_modules_of_its_package(plug_in: Path) -> None:
    from own_method import OwnNorm  # type: ignore[import-not-found]

    def digest() -> str | None:
        return own_code.digest_of_part(METHODS, OwnNorm)

    first = digest()
    (plug_in / "formula.py").write_text("B = 1  # said\n")
    assert digest() == first
    (plug_in / "formula.py").write_text("B = 2\n")
    second = digest()
    (plug_in / "more.py").write_text("C = 1\n")
    third = digest()
    (plug_in / "more.py").rename(plug_in / "other.py")
    assert len({first, second, third, digest()}) == 4
