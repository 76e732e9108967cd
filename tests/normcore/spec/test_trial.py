"""A class of another package is tried first: what the service could not use is left out, and the reason is told."""

import subprocess
import sys
import warnings
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from textwrap import dedent, indent

import pytest

from normcore.spec.plug_ins import UnusablePlugIn
from normcore.spec.trial import _can_be_found, try_out
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
BASES = {  # kind: what a class of it derives from, its home, its tag
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
    """Offers a class of this kind with these lines, and gives why it is left out; nothing if it is let in."""
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
            found = registry.plugged_in([EntryPoint(tag, f"{module}:Mine", registry.group)])
        said = [str(w.message) for w in warned if issubclass(w.category, UnusablePlugIn)]
        assert len(said) == 1 - len(found)
        assert all(text.startswith(f"normbench.{kind}: {tag} ({module}:Mine) is left out: ") for text in said)
        return said[0].partition(" is left out: ")[2] if said else ""

    return offered


def as_class_variables(assignments: str) -> list[str]:
    return [text.replace(" =", ": ClassVar[Any] =", 1) for text in assignments.split(";") if text]


@pytest.mark.parametrize("kind", BASES)
def test_a_class_that_works_is_let_in(offer: Offer, kind: str) -> None:
    assert offer(kind) == ""


@pytest.mark.parametrize(("kind", "tag"), [(kind, tag) for kind in REGISTRIES for tag in REGISTRIES[kind].ours])
def test_ours_would_pass_if_they_had_homes(kind: str, tag: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("normcore.spec.trial._home_is_there", lambda kind: None)
    if tag != "recurrent":  # a family, not a model
        try_out(REGISTRIES[kind].ours[tag])


METHOD = [
    ("title: ClassVar[Any] = 3", "title: expected text"),
    ("citation: ClassVar[Any] = None", "citation: expected text"),
    (r'title: ClassVar[Any] = "\ud800"', "title: expected text"),
    ('takes: ClassVar[Any] = "layer"', "takes: expected a frozenset of input, recurrent, "),
    ("takes: ClassVar[Any] = None", "takes: expected a frozenset of input, recurrent, "),
    ('takes: ClassVar[Any] = frozenset({"elsewhere"})', "takes: expected a frozenset of input, recurrent, "),
    ("home: ClassVar[Any] = 3", "home: expected 'module' or 'module:Class'"),
    ('home: ClassVar[Any] = "normcore.norms.layer_norm:"', "home: expected 'module' or 'module:Class', not "),
    ('home: ClassVar[Any] = "../norms"', "home: expected 'module' or 'module:Class', not '../norms'"),
    ('home: ClassVar[Any] = "no_such.module"', "home: there is no module no_such.module"),
    ('home: ClassVar[Any] = "normcore.norms.no_such"', "home: there is no module normcore.norms.no_such"),
    ('home: ClassVar[Any] = "json.decoder.inner"', "home: there is no module json.decoder.inner"),
    ('method: str = "mine"', 'expected its field method: Literal["mine"] = "mine"'),
    ('other: "Nowhere" = None', "its options: "),
    ("other: Callable[[], int] = int", "its options: "),
    ('other: Any = float("nan")', "its options: "),
    ('other: Any = Field(default_factory=lambda: float("nan"))', "its options: written as JSON and read again, "),
    ("other: Any = Field(default_factory=object)", "its options: "),
    ("other: tuple[int, ...] = (1, 2)", "its options: other: "),
    ("other: int = 'three'", "its options: other: "),
    ("@classmethod\ndef fits(cls, model): raise KeyError('x')", "Mine.fits(GRU): KeyError: 'x'"),
    ("@classmethod\ndef defaults(cls, model): raise KeyError('x')", "Mine.defaults(GRU): KeyError: 'x'"),
    ("@classmethod\ndef defaults(cls, model): return None", "Mine.defaults(GRU): TypeError: "),
    ("@classmethod\ndef defaults(cls, model): return {'no': 1}", "Mine.defaults(GRU): no: "),
    ("def misfit(self, model): raise KeyError('x')", "Mine.misfit(GRU): KeyError: 'x'"),
    ("def misfit(self, model): return 'no'", "Mine.misfit(GRU): expected a Misfit, or None"),
    ("@property\ndef needs_batch(self): raise KeyError('x')", "Mine.misfit(GRU): KeyError: 'x'"),
]


@pytest.mark.parametrize(("lines", "reason"), METHOD, ids=[lines for lines, _ in METHOD])
def test_a_method_that_the_service_could_not_use_is_left_out(offer: Offer, lines: str, reason: str) -> None:
    assert offer("methods", lines).startswith(reason)


CELL = [
    ("places: ClassVar[Any] = ['input']", "places: expected a frozenset of "),
    ("usual: ClassVar[Any] = 'input'", "usual: expected a tuple of "),
    ('gates: ClassVar[Any] = "4"', "cost(): TypeError: "),
    ("gates: ClassVar[Any] = 1.5", "cost(): expected a Cost of whole numbers, or None"),
    ("def cost(self, inputs, steps): raise KeyError('x')", "cost(): KeyError: 'x'"),
    ("@property\ndef label(self): raise KeyError('x')", "its usual sizes: KeyError: 'x'"),
    ("@property\ndef channels(self): return 3", "its usual sizes: TypeError: "),
]


@pytest.mark.parametrize(("lines", "reason"), CELL, ids=[lines for lines, _ in CELL])
def test_a_cell_that_the_service_could_not_use_is_left_out(offer: Offer, lines: str, reason: str) -> None:
    assert offer("cells", lines).startswith(reason)


MODEL = [
    ("@classmethod\ndef kinds(cls): raise KeyError('x')", "kinds(): KeyError: 'x'"),
    ("@classmethod\ndef kinds(cls): return {'a': 3}", "kinds(): TypeError: "),
    ("places: ClassVar[Any] = frozenset({3})", "places: expected a frozenset of "),
]


@pytest.mark.parametrize(("lines", "reason"), MODEL, ids=[lines for lines, _ in MODEL])
def test_a_model_that_the_service_could_not_use_is_left_out(offer: Offer, lines: str, reason: str) -> None:
    assert offer("models", lines).startswith(reason)


def test_an_optimizer_whose_options_are_no_json_is_left_out(offer: Offer) -> None:
    assert offer("optimizers", "other: Callable[[], int] = int").startswith("its options: ")


PROFILE = "Profile('One.', {'cell': 'lstm'}, dict(digits_profiles()['smoke'].training))"
BENCHMARK = [
    ("x: ClassVar[Any] = 3", "x: expected text"),
    ("kind: ClassVar[Any] = 'analysis'", "kind: expected 'training'"),
    ("profiles: ClassVar[Any] = None", "profiles: expected paper, small, smoke"),
    (f"profiles: ClassVar[Any] = {{'small': {PROFILE}}}", "profiles: expected paper, small, smoke"),
    ("profiles: ClassVar[Any] = {**digits_profiles(), 'tiny': 3}", "profiles: expected paper, small, smoke"),
    ("profiles: ClassVar[Any] = {**digits_profiles(), 'small': 3}", "the profile small: expected a Profile"),
    (
        "profiles: ClassVar[Any] = {**digits_profiles(), 'small': Profile(3)}",
        "the profile small: expected a description",
    ),
    (
        "profiles: ClassVar[Any] = {**digits_profiles(), 'small': Profile('No training.', {'cell': 'lstm'})}",
        "the profile small: KeyError: 'optimizer'",
    ),
    (
        "profiles: ClassVar[Any] = {**digits_profiles(), 'small': Profile('No cell.', {}, {'optimizer': {}})}",
        "the profile small: ",
    ),
    ("profiles: ClassVar[Any] = digits_profiles(layer_norm=3)", "the profile paper with layer_norm: TypeError: "),
    ("metrics: ClassVar[Any] = ()", "metrics: expected a tuple of one or more"),
    ("metrics: ClassVar[Any] = None", "metrics: expected a tuple of one or more"),
    ("metrics: ClassVar[Any] = ('accuracy',)", "metrics: 'accuracy' is none with name, unit and direction"),
    ("metrics: ClassVar[Any] = (Metric('a', '', 'up'),)", "metrics: Metric(name='a', "),
    ("metrics: ClassVar[Any] = (Metric('a', '', 'maximize', None, '0', 1),)", "metrics: Metric(name='a', "),
    ("metrics: ClassVar[Any] = (Metric('a', '', 'maximize', None, 0, float('nan')),)", "metrics: Metric(name='a', "),
    ("def test_items(self, metric): return {}['x']", "test_items('accuracy') in the profile paper: KeyError: 'x'"),
    ("def test_items(self, metric): return 0", "test_items('accuracy') in the profile paper: expected a whole number"),
    (
        "def test_items(self, metric): return 1e3",
        "test_items('accuracy') in the profile paper: expected a whole number",
    ),
    ("selection: ClassVar[Any] = ACCURACY", "selection: expected Best or LastMean"),
    ("selection: ClassVar[Any] = Best('accuracy')", "selection: expected Best of a metric"),
    ("model: ClassVar[Any] = int", "model: expected a class of models"),
    ("model: ClassVar[Any] = None", "model: expected a class of models"),
    ("def cost(self, model): raise KeyError('x')", "cost() in the profile paper: KeyError: 'x'"),
    ("def cost(self, model): return 3", "cost() in the profile paper: expected a Cost of whole numbers, or None"),
    ("def misfit(self, model): raise KeyError('x')", "the profile paper: KeyError: 'x'"),
    (
        "def misfit(self, model): return {'lstm': None, 'gru': 'no', 'rnn': None}[model.cell]",
        "misfit(GRU): expected a Misfit, or None",
    ),
    ("def needs(self): raise KeyError('x')", "needs() in the profile paper: KeyError: 'x'"),
    ("def needs(self): return (Need('nowhere'),)", "needs() in the profile paper: there is no data set 'nowhere'"),
    ("def needs(self): return ('digits',)", "needs() in the profile paper: expected a Need, not 'digits'"),
    ("def needs(self): return None", "needs() in the profile paper: TypeError: "),
]


@pytest.mark.parametrize(("lines", "reason"), BENCHMARK, ids=[lines for lines, _ in BENCHMARK])
def test_a_task_that_the_service_could_not_use_is_left_out(offer: Offer, lines: str, reason: str) -> None:
    assert offer("tasks", lines).startswith(reason)


ANALYSIS = [
    ("profiles: ClassVar[Any] = {}", "profiles: expected paper, small, smoke"),
    ("model: ClassVar[Any] = int", "model: expected a class of models, or None"),
    ("subject: ClassVar[Any] = FeedForward", "subject: expected a model, or None"),
    ("model: ClassVar[Any] = RecurrentModel", "the profile paper: model.cell: it is required"),
    ("required: int", "the profile paper: required: it is required"),
    ("def needs(self): raise KeyError('x')", "needs() in the profile paper: KeyError: 'x'"),
]


@pytest.mark.parametrize(("lines", "reason"), ANALYSIS, ids=[lines for lines, _ in ANALYSIS])
def test_an_analysis_that_the_service_could_not_use_is_left_out(offer: Offer, lines: str, reason: str) -> None:
    assert offer("analyses", lines).startswith(reason)


def test_an_analysis_of_trained_models_has_to_say_which(offer: Offer) -> None:
    assert offer("analyses", base="TrainedAnalysis").startswith("misfit() with attentive_reader: NotImplementedError")


def test_an_analysis_of_trained_models_that_says_which_is_let_in(offer: Offer) -> None:
    assert offer("analyses", "def misfit(self, task, norm): return None", base="TrainedAnalysis") == ""


@pytest.mark.parametrize(
    ("kind", "tag", "reason"),
    [
        ("tasks", "invariances", "there is an analysis of that name already"),
        ("analyses", "char_lm", "there is a task of that name already"),
        ("tasks", "char_lm", "there is one of that name already"),
    ],
)
def test_tasks_and_analyses_share_one_name_space(offer: Offer, kind: str, tag: str, reason: str) -> None:
    assert offer(kind, tag=tag) == reason


def test_a_method_may_have_options_that_must_be_given(offer: Offer) -> None:
    assert offer("methods", "required: int") == ""


def test_a_default_that_goes_with_no_option_is_no_matter_where_the_method_does_not_fit(offer: Offer) -> None:
    """A spec that asks for it there is refused with a reason."""
    lines = """
    width: int = Field(1, ge=1)
    @classmethod
    def fits(cls, model): return model.__name__ == "LSTM"
    @classmethod
    def defaults(cls, model): return {} if cls.fits(model) else {"width": 0}
    """
    assert offer("methods", lines) == ""


def test_a_module_is_found_without_importing_the_packages_that_hold_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They may import torch."""
    for folder in ("held", "held/inner", "held/bare/space"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "held/__init__.py").write_text("raise AssertionError('imported')")
    (tmp_path / "held/inner/__init__.py").write_text("raise AssertionError('imported')")
    (tmp_path / "held/inner/leaf.py").touch()
    (tmp_path / "held/bare/space/leaf.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    assert _can_be_found("held.inner.leaf")
    assert _can_be_found("held.bare.space.leaf")
    assert not _can_be_found("held.inner.root")
    assert not _can_be_found("held.outer.leaf")
    assert not _can_be_found("held.inner.leaf.more")
    assert "held" not in sys.modules


def test_a_trial_needs_no_torch_and_without_plug_ins_there_is_none() -> None:
    check = (
        "import sys; from normcore.spec import TASKS, resolve; list(TASKS); resolve({'task': {'name': 'char_lm'}});"
        "print('normcore.spec.trial' in sys.modules);"
        "import normcore.spec.trial; print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.split() == ["False", "False"]
