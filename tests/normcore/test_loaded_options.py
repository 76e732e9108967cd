"""Edits of options after the start of a process are noticed; edits of what implements the options are not refused."""

import importlib
import os
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from normcore import loaded_options
from normcore.loaded_options import LoadedOptions
from normcore.spec import ExperimentSpec, resolve
from normcore.spec.methods import METHODS

OF_OWN = {"task": {"name": "permuted_digits", "profile": "smoke"}, "norm": {"method": "rms_norm"}}
OPTIONS = """
    class Own(SiteMethod{bases}):
        \"\"\"Own.\"\"\"

        title: ClassVar[str] = "Own"
        citation: ClassVar[str] = "here"
        home: ClassVar[str] = "{package}.layers"
        method: Literal["own_norm"] = "own_norm"
        {field}
"""
IMPORTS = "from typing import ClassVar, Literal\nfrom normcore.spec.methods.method import SiteMethod\n"
FEW, MANY = "EPS = 1e-5\n", "EPS = 1e-3\n"


def options(imports: str = "", field: str = "eps: float = 1e-5", bases: str = "") -> str:
    return IMPORTS + imports + textwrap.dedent(OPTIONS).format(package="{package}", field=field, bases=bases)


@pytest.fixture
def plugged_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., ExperimentSpec]]:
    """Function that writes the files of a package with a method, as a user's, loads the package, and returns a spec
    that names the method. ``{package}`` in the files stands for the package."""
    added = []

    def load(package: str, files: Mapping[str, str]) -> ExperimentSpec:
        for name, text in {"__init__.py": "", "layers.py": "", **files}.items():
            file = tmp_path / package / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text.replace("{package}", package), encoding="utf-8")
        information = tmp_path / f"{package}-1.dist-info"
        information.mkdir()
        (information / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n")
        (information / "entry_points.txt").write_text(f"[normbench.methods]\nown_norm = {package}.spec:Own\n")
        monkeypatch.syspath_prepend(tmp_path)
        added.append(package)
        own = importlib.import_module(f"{package}.spec").Own
        monkeypatch.setitem(METHODS._all, "own_norm", own)
        return resolve(OF_OWN).model_copy(update={"norm": own()})

    yield load
    for name in [name for name in sys.modules if name.partition(".")[0] in added]:
        del sys.modules[name]


def write(file: Path, text: str | None) -> None:
    """Write a file and set its time forward, because two edits in one tick of the file system look the same."""
    if text is None:
        file.unlink()
        return
    seconds = file.stat().st_mtime + 10 if file.exists() else 1e9
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, encoding="utf-8")
    os.utime(file, (seconds, seconds))


WAYS = {
    "from_import": ("from .constants import EPS\n", "eps: float = EPS", {}),
    "attribute_of_a_module": (
        "import {package}.constants\nimport {package}.layers\n",
        "eps: float = {package}.constants.EPS",
        {},
    ),
    "through_another_module": (
        "from . import defaults\n",
        "eps: float = defaults.SMALL",
        {"defaults.py": "from .constants import EPS\nSMALL = 10 * EPS\n"},
    ),
    "star": ("from .constants import *\n", "eps: float = EPS", {}),
    "first_that_is_there": (
        "try:\n    from .fast import EPS\nexcept ImportError:\n    from .constants import EPS\n",
        "eps: float = EPS",
        {},
    ),
    "factory": (
        "from pydantic import Field\ndef eps():\n    from .constants import EPS\n    return EPS\n",
        "eps: float = Field(default_factory=eps)",
        {},
    ),
    "type": (
        "from .kinds import Kind\n",
        "kind: Kind | None = None",
        {
            "kinds.py": "from typing import Literal\nfrom .constants import EPS\n"
            "Kind = Literal['a'] if EPS < 1e-4 else str\n"
        },
    ),
}


@pytest.mark.parametrize("way", WAYS)
def test_edit_of_a_module_that_gives_a_default_is_an_edit_of_the_options(
    way: str, plugged_in: Callable[..., ExperimentSpec], tmp_path: Path
) -> None:
    package = f"own_{way}"
    imports, field, files = WAYS[way]
    spec = plugged_in(package, {"spec.py": options(imports, field), "constants.py": FEW, **files})
    loaded = LoadedOptions()
    assert loaded.find_edited(spec) == {}
    write(tmp_path / package / "constants.py", MANY)
    assert loaded.find_edited(spec) == {"norm": f"{package}/constants.py"}
    assert loaded.find_edited(resolve(OF_OWN)) == {}


def test_a_plug_in_that_pip_has_installed_is_looked_at_too(
    plugged_in: Callable[..., ExperimentSpec], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loaded_options, "INSTALLED", (*loaded_options.INSTALLED, str(tmp_path)))
    files = {"spec.py": options("from .constants import EPS\n", "eps: float = EPS"), "constants.py": FEW}
    spec = plugged_in("own_installed", files)
    loaded = LoadedOptions()
    write(tmp_path / "own_installed/constants.py", MANY)
    assert loaded.find_edited(spec) == {"norm": "own_installed/constants.py"}


def test_edit_of_another_package_that_gives_a_default_is_an_edit_of_the_options(
    plugged_in: Callable[..., ExperimentSpec], tmp_path: Path
) -> None:
    (tmp_path / "own_constants.py").write_text(FEW)
    spec = plugged_in("own_dependent", {"spec.py": options("from own_constants import EPS\n", "eps: float = EPS")})
    loaded = LoadedOptions()
    write(tmp_path / "own_constants.py", MANY)
    assert loaded.find_edited(spec) == {"norm": "own_constants.py"}


@pytest.mark.parametrize("text", [None, "EPS = = 1\n"], ids=["removed", "mistaken"])
def test_a_module_that_can_no_longer_be_imported_is_an_edit_of_the_options(
    text: str | None, plugged_in: Callable[..., ExperimentSpec], tmp_path: Path
) -> None:
    package = "own_removed" if text is None else "own_mistaken"
    imports = "from .constants import EPS\n"
    spec = plugged_in(package, {"spec.py": options(imports, "eps: float = EPS"), "constants.py": FEW})
    loaded = LoadedOptions()
    write(tmp_path / package / "constants.py", text)
    assert loaded.find_edited(spec) == {"norm": f"{package}/constants.py"}


def test_edit_of_what_implements_the_options_is_not_refused(
    plugged_in: Callable[..., ExperimentSpec], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The options import ``formula``, but do not depend on it. A fresh process is asked once for each edit. It imports
    nothing from the current directory.
    """
    (tmp_path / "here/normcore").mkdir(parents=True)
    (tmp_path / "here/normcore/__init__.py").write_text("raise ImportError('not this one')")
    monkeypatch.chdir(tmp_path / "here")
    started = list[str]()

    def describe_afresh(part: str, tag: str) -> str | None:
        started.append(tag)
        return original(part, tag)

    original = loaded_options._described_afresh
    monkeypatch.setattr(loaded_options, "_described_afresh", describe_afresh)
    files = {"spec.py": options("from . import formula\n"), "formula.py": "A = 1\n", "constants.py": FEW}
    spec = plugged_in("own_formula", files)
    loaded = LoadedOptions()
    write(tmp_path / "own_formula/layers.py", "B = 1\n")
    assert (loaded.find_edited(spec), started) == ({}, [])
    for text in ("A = 2\n", "A = 3\n"):
        write(tmp_path / "own_formula/formula.py", text)
        loaded.compare_plug_ins(spec)
        assert loaded.find_edited(spec) == {}
    assert started == ["own_norm"] * 2


def test_edit_of_the_file_of_the_options_is_refused_unless_it_is_a_comment(
    plugged_in: Callable[..., ExperimentSpec], tmp_path: Path
) -> None:
    spec = plugged_in("own_file", {"spec.py": options()})
    loaded, file = LoadedOptions(), tmp_path / "own_file/spec.py"
    write(file, file.read_text() + "# said\n")
    assert loaded.find_edited(spec) == {}
    write(file, file.read_text() + "EDITED = True\n")
    assert loaded.find_edited(spec) == {"norm": "own_file/spec.py"}


@pytest.mark.parametrize(
    ("module", "part"),
    [
        ("normcore.spec.methods.rms_norm", "norm"),
        ("normcore.spec.methods.method", "norm"),
        ("normcore.spec.cells.lstm", "model"),
        ("normcore.spec.training", "task"),
        ("normcore.spec.resolve", "task"),
        ("normcore.spec.methods.layer_norm", None),
    ],
)
def test_edit_of_our_own_options_is_refused_for_the_specs_that_depend_on_it(
    module: str, part: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = str(sys.modules[module].__file__)
    copy = tmp_path / Path(original).name
    copy.write_text(Path(original).read_text())
    monkeypatch.setattr(sys.modules[module], "__file__", str(copy))
    loaded = LoadedOptions()
    assert loaded.find_edited(resolve(OF_OWN)) == {}
    write(copy, copy.read_text() + "EDITED = True\n")
    assert list(loaded.find_edited(resolve(OF_OWN))) == ([part] if part else [])


@pytest.mark.parametrize("file", [None, "/nowhere/spec.py", "/bin/sh/spec.py"], ids=["none", "away", "archive"])
def test_a_module_without_a_readable_file_stops_nothing(file: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["normcore.spec.methods.rms_norm"], "__file__", file)
    monkeypatch.setitem(sys.modules, "own_replaced", object())
    assert LoadedOptions().find_edited(resolve(OF_OWN)) == {}
