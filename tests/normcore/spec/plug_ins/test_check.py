"""A class of another package is checked first. A class that the service cannot use is left out with the reason."""

import subprocess
import sys
import warnings
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from textwrap import dedent, indent

import pytest

from normcore.spec.plug_ins.check import check
from normcore.spec.plug_ins.errors import UnusablePlugIn
from tests.normcore.spec.test_registry import REGISTRIES

IMPORTS = """
from typing import Any, Callable, ClassVar, Literal
from pydantic import Field
from normcore.spec.analyses.analysis import Analysis, TrainedAnalysis, one_size
from normcore.spec.cells.lstm import LSTM
from normcore.spec.methods.layer_norm import LayerNorm
from normcore.spec.methods.method import Method
from normcore.spec.metric import ACCURACY, Metric
from normcore.spec.models.feed_forward import FeedForward
from normcore.spec.models.model import Cost
from normcore.spec.models.recurrent import RecurrentModel
from normcore.spec.optimizers.optimizer import Optimizer
from normcore.spec.part import Misfit
from normcore.spec.task import Need, Profile
from normcore.spec.tasks.benchmark import Best, LastMean
from normcore.spec.tasks.pixels import PermutedDigits, digits_profiles
"""
BASES = {  # kind: base class, home, name of the tag
    "methods": ("Method", "normcore.norms.layer_norm", "method"),
    "cells": ("LSTM", "normcore.cells.lstm", "cell"),
    "models": ("FeedForward", "normcore.models.feed_forward", None),
    "optimizers": ("Optimizer", "normcore.training.optimizers.adam", "name"),
    "tasks": ("PermutedDigits", "normcore.tasks.pixel_sequences:PixelSequences", "name"),
    "analyses": ("Analysis", "normcore.analyses.invariances", "name"),
}
USUAL = {
    "methods": 'title = "Mine"; citation = "me"; takes = frozenset({"layer", "input"})',
    "analyses": 'title = "Mine"; citation = "me"; profiles = one_size("Any.")',
}
Offer = Callable[..., str]


@pytest.fixture
def offer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Offer:
    """Function that offers a class of a kind with some lines; it returns why the class is left out, or "" if not."""
    monkeypatch.syspath_prepend(tmp_path)

    def offered(kind: str, lines: str = "", tag: str = "mine", base: str = "") -> str:
        usual_base, home, field = BASES[kind]
        named = f'{field}: Literal["{tag}"] = "{tag}"' if field else f'architecture: ClassVar[str] = "{tag}"'
        body = [f'home: ClassVar[str] = "{home}"', named]
        body += [f"{name.strip()}" for name in as_class_variables(USUAL.get(kind, ""))]
        module = f"trial_{tmp_path.name.replace('-', '_')}"
        source = f"{IMPORTS}\nclass Mine({base or usual_base}):\n" + indent("\n".join([*body, dedent(lines)]), "    ")
        (tmp_path / f"{module}.py").write_text(source + "\n")
        registry = REGISTRIES[kind]
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            found = registry.load_plug_ins([EntryPoint(tag, f"{module}:Mine", registry.group)])
        said = [str(w.message) for w in warned if issubclass(w.category, UnusablePlugIn)]
        assert len(said) == 1 - len(found)
        assert all(text.startswith(f"normbench.{kind}: {tag} ({module}:Mine) is left out: ") for text in said)
        return said[0].partition(" is left out: ")[2] if said else ""

    return offered


def as_class_variables(assignments: str) -> list[str]:
    return [text.replace(" =", ": ClassVar[Any] =", 1) for text in assignments.split(";") if text]


@pytest.mark.parametrize("kind", BASES)
def test_working_class_is_accepted(offer: Offer, kind: str) -> None:
    assert offer(kind) == ""


@pytest.mark.parametrize(("kind", "tag"), [(kind, tag) for kind in REGISTRIES for tag in REGISTRIES[kind].ours])
def test_our_own_classes_pass_the_check(kind: str, tag: str, monkeypatch: pytest.MonkeyPatch) -> None:
    registry = REGISTRIES[kind]
    if tag != "recurrent":  # recurrent is a family, not a model
        monkeypatch.setattr(registry.ours[tag], "home", registry.module_of(registry.ours[tag]))
        check(registry.ours[tag])


METHOD = [
    ("title: ClassVar[Any] = 3", "title: expected text"),
    ("citation: ClassVar[Any] = None", "citation: expected text"),
    ('works: ClassVar[Any] = "a paper"', "works: expected a tuple of Work"),
    ('works: ClassVar[Any] = ("a paper",)', "works: expected a tuple of Work"),
    ("takes: ClassVar[Any] = None", "with GRU: TypeError: "),
    ('home: ClassVar[Any] = ""', "home: expected the module that implements it"),
    ('home: ClassVar[Any] = "no_such.module"', "home: ModuleNotFoundError: No module named 'no_such'"),
    ('home: ClassVar[Any] = "normcore.norms.no_such"', "home: there is no module normcore.norms.no_such"),
    ('method: str = "mine"', 'expected its field method: Literal["mine"] = "mine"'),
    ('other: "Nowhere" = None', "its options: "),
    ("other: Callable[[], int] = int", "its options: "),
    ('other: Any = float("nan")', "its options: "),
    ("other: int = 'three'", "with GRU: other: "),
    ("@classmethod\ndef fits(cls, model): raise KeyError('x')", "with GRU: KeyError: 'x'"),
    ("@classmethod\ndef defaults(cls, model): return {'no': 1}", "with GRU: no: "),
]


@pytest.mark.parametrize(("lines", "reason"), METHOD, ids=[lines for lines, _ in METHOD])
def test_unusable_method_is_left_out(offer: Offer, lines: str, reason: str) -> None:
    assert offer("methods", lines).startswith(reason)


def test_cell_whose_cost_is_not_a_number_is_left_out(offer: Offer) -> None:
    assert offer("cells", 'gates: ClassVar[Any] = "4"').startswith("cost(): TypeError: ")


def test_optimizer_whose_options_are_not_json_is_left_out(offer: Offer) -> None:
    assert offer("optimizers", "other: Callable[[], int] = int").startswith("its options: ")


PROFILE = "Profile('One.', {'cell': 'lstm'}, dict(digits_profiles()['smoke'].training))"
BENCHMARK = [
    ("x: ClassVar[Any] = 3", "x: expected text"),
    ("profiles: ClassVar[Any] = None", "profiles: expected paper, small, smoke"),
    (f"profiles: ClassVar[Any] = {{'small': {PROFILE}}}", "profiles: expected paper, small, smoke"),
    ("profiles: ClassVar[Any] = {**digits_profiles(), 'small': 3}", "the profile small: AttributeError: "),
    (
        "profiles: ClassVar[Any] = {**digits_profiles(), 'small': Profile('No training.', {'cell': 'lstm'})}",
        "the profile small: KeyError: 'optimizer'",
    ),
    ("metrics: ClassVar[Any] = ()", "metrics: expected at least one"),
    ("metrics: ClassVar[Any] = ('accuracy',)", "metrics: expected a tuple of Metric"),
    ("def cost(self, model): raise KeyError('x')", "the profile paper: KeyError: 'x'"),
    ("def misfit(self, model): raise KeyError('x')", "the profile paper: KeyError: 'x'"),
    ("def needs(self): raise KeyError('x')", "the profile paper: KeyError: 'x'"),
    ("def needs(self): return (Need('nowhere'),)", "the profile paper: there is no data set 'nowhere'"),
]


@pytest.mark.parametrize(("lines", "reason"), BENCHMARK, ids=[lines for lines, _ in BENCHMARK])
def test_unusable_task_is_left_out(offer: Offer, lines: str, reason: str) -> None:
    assert offer("tasks", lines).startswith(reason)


ANALYSIS = [
    ("profiles: ClassVar[Any] = {}", "profiles: expected paper, small, smoke"),
    ("model: ClassVar[Any] = RecurrentModel", "the profile paper: model.cell: it is required"),
    ("required: int", "the profile paper: required: it is required"),
    ("def needs(self): raise KeyError('x')", "the profile paper: KeyError: 'x'"),
]


@pytest.mark.parametrize(("lines", "reason"), ANALYSIS, ids=[lines for lines, _ in ANALYSIS])
def test_unusable_analysis_is_left_out(offer: Offer, lines: str, reason: str) -> None:
    assert offer("analyses", lines).startswith(reason)


def test_analysis_that_names_its_trained_models_is_accepted(offer: Offer) -> None:
    assert offer("analyses", "def misfit(self, task, norm): return None", base="TrainedAnalysis") == ""


@pytest.mark.parametrize(
    ("kind", "tag", "reason"),
    [
        ("tasks", "invariances", "there is a task or an analysis of that name already"),
        ("analyses", "char_lm", "there is a task or an analysis of that name already"),
        ("tasks", "char_lm", "another class has this name already"),
    ],
)
def test_tasks_and_analyses_share_a_name_space(offer: Offer, kind: str, tag: str, reason: str) -> None:
    assert offer(kind, tag=tag) == reason


def test_method_may_have_required_options(offer: Offer) -> None:
    assert offer("methods", "required: int") == ""


def test_invalid_default_is_accepted_where_the_method_does_not_fit(offer: Offer) -> None:
    """A spec with this method and such a model is refused with a reason."""
    lines = """
    width: int = Field(1, ge=1)
    @classmethod
    def fits(cls, model): return model.__name__ == "LSTM"
    @classmethod
    def defaults(cls, model): return {} if cls.fits(model) else {"width": 0}
    """
    assert offer("methods", lines) == ""


def test_check_imports_no_torch_and_is_not_loaded_without_plug_ins() -> None:
    check = (
        "import sys; from normcore.spec import TASKS, resolve; list(TASKS); resolve({'task': {'name': 'char_lm'}});"
        "print('normcore.spec.plug_ins.check' in sys.modules);"
        "import normcore.spec.plug_ins.check; print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["False", "False"]
