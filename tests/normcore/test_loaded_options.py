"""Edits of options after the start of a process are noticed; edits of what implements the options are not refused."""

import importlib
import os
import py_compile
import sys
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

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

    def load(package: str, files: Mapping[str, str], **given: int) -> ExperimentSpec:
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
        return resolve(OF_OWN).model_copy(update={"norm": own(**given)})

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

    def is_unchanged(part: str, tag: str, described: str) -> bool:
        started.append(tag)
        return original(part, tag, described)

    original = loaded_options._is_unchanged
    monkeypatch.setattr(loaded_options, "_is_unchanged", is_unchanged)
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


FACTORY = "from pydantic import Field\n"
UNCHANGED = {
    "set": ("", "words: frozenset[str] = frozenset('abcdefgh')"),
    "dictionary_of_sets": ("", "words: dict[str, set[str]] = {'a': set('abcdefgh')}"),
    "factory_of_a_set": (FACTORY, "words: set[str] = Field(default_factory=lambda: set('abcdefgh'))"),
    "factory_with_data": (FACTORY, "more: float = Field(default_factory=lambda data: 2 * data['eps'])"),
    "factory_with_data_that_a_spec_must_give": (
        FACTORY,
        "size: int\n    more: float = Field(default_factory=lambda data: 2.0 * data['size'])",
    ),
    "that_prints": ("import atexit\nprint('said')\natexit.register(print, 'at the end')\n", ""),
    "that_leaves_a_process": ("import subprocess\nsubprocess.Popen(['sleep', '12'])\n", ""),
}


@pytest.mark.parametrize("kind", UNCHANGED)
def test_equal_options_are_no_edit_in_another_process(
    kind: str, plugged_in: Callable[..., ExperimentSpec], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loaded_options, "IMPORT_SECONDS", 10.0)
    package = f"own_unchanged_{kind}"
    imports, field = UNCHANGED[kind]
    files = {
        "spec.py": options(imports + "from . import formula\n", f"eps: float = 1e-5\n    {field}"),
        "formula.py": "A = 1\n",
    }
    spec = plugged_in(package, files, **({"size": 1} if "size:" in field else {}))
    loaded = LoadedOptions()
    write(tmp_path / package / "formula.py", "A = 2\n")
    assert loaded.find_edited(spec) == {}


@pytest.mark.parametrize(
    "field",
    ["words: frozenset[str] = frozenset(WORDS)", "words: set[str] = Field(default_factory=lambda: set(WORDS))"],
    ids=["set", "factory"],
)
def test_an_edit_of_a_set_is_an_edit(field: str, plugged_in: Callable[..., ExperimentSpec], tmp_path: Path) -> None:
    package = f"own_words_{len(field)}"
    imports = FACTORY + "from .constants import WORDS\n"
    spec = plugged_in(package, {"spec.py": options(imports, field), "constants.py": "WORDS = 'abc'\n"})
    loaded = LoadedOptions()
    write(tmp_path / package / "constants.py", "WORDS = 'abd'\n")
    assert loaded.find_edited(spec) == {"norm": f"{package}/constants.py"}


def test_options_that_could_not_be_imported_are_compared_again_after_a_while(
    plugged_in: Callable[..., ExperimentSpec], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The import waits for a file that is no module, like an import on a machine that is busy."""
    spec = plugged_in("own_slow", {"spec.py": options("from . import formula\n"), "formula.py": "A = 1\n"})
    loaded = LoadedOptions()
    waits = "import pathlib, time\nwhile not pathlib.Path(__file__).with_suffix('.txt').exists(): time.sleep(0.01)\n"
    write(tmp_path / "own_slow/formula.py", waits)
    monkeypatch.setattr(loaded_options, "IMPORT_SECONDS", 3.0)
    assert loaded.find_edited(spec) == {"norm": "own_slow/formula.py"}
    (tmp_path / "own_slow/formula.txt").touch()
    assert loaded.find_edited(spec) == {"norm": "own_slow/formula.py"}
    monkeypatch.setattr(loaded_options, "AGAIN_SECONDS", 0.0)
    monkeypatch.setattr(loaded_options, "IMPORT_SECONDS", 30.0)
    assert loaded.find_edited(spec) == {}


def test_a_compiled_file_of_the_same_second_and_size_hides_no_edit(
    plugged_in: Callable[..., ExperimentSpec], tmp_path: Path
) -> None:
    files = {"spec.py": options("from .constants import EPS\n", "eps: float = EPS"), "constants.py": FEW}
    spec = plugged_in("own_second", files)
    file = tmp_path / "own_second/constants.py"
    write(file, FEW)
    py_compile.compile(str(file))
    loaded, time_ns = LoadedOptions(), file.stat().st_mtime_ns
    file.write_text(MANY)
    os.utime(file, ns=(time_ns + 1000, time_ns + 1000))
    assert loaded.find_edited(spec) == {"norm": "own_second/constants.py"}


def test_many_submissions_at_once_start_one_process(
    plugged_in: Callable[..., ExperimentSpec], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = list[str]()

    def is_unchanged(*arguments: Any) -> bool:
        started.append("one")
        time.sleep(0.2)
        return True

    monkeypatch.setattr(loaded_options, "_is_unchanged", is_unchanged)
    spec = plugged_in("own_crowd", {"spec.py": options("from . import formula\n"), "formula.py": "A = 1\n"})
    loaded = LoadedOptions()
    write(tmp_path / "own_crowd/formula.py", "A = 2\n")
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(loaded.find_edited, [spec] * 4)) == [{}] * 4
    assert started == ["one"]


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
