"""An analysis emits events like a training, and its findings are those of its functions."""

import math
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from normcore.analyse import analyse
from normcore.analyses import hidden_dynamics, length_generalization, population_statistics, step_cost
from normcore.analyses.report import Report, Resources, Work, is_the_papers_run
from normcore.events import Advanced, Analysed, Event, Finding, Finished, Measured, Started
from normcore.kernels.cpu.load import describe_build
from normcore.run import run
from normcore.spec import AnalysisSpec, TrainingSpec, resolve
from normcore.spec.analyses import ANALYSES
from normcore.spec.analyses.analysis import TrainedAnalysis
from normcore.spec.methods.layer_norm import LayerNorm
from normcore.spec.methods.recurrent_batch_norm import RecurrentBatchNorm

RUN = "run_00000000000000000000000000"  # analyses name a run; the tests pass the model of the run
BY_THEMSELVES = [name for name, task in ANALYSES.items() if not issubclass(task, TrainedAnalysis)]


def spec_of(name: str, **parts: Any) -> AnalysisSpec:
    spec = resolve({"task": {"name": name, "profile": "smoke"}, **parts})
    assert isinstance(spec, AnalysisSpec)
    return spec


def findings_of(events: Iterator[Event]) -> dict[str, Finding]:
    *_, last = events
    assert isinstance(last, Analysed)
    return {finding.name: finding for finding in last.findings}


@cache
def events_of(name: str) -> list[Event]:
    return list(run(spec_of(name), 1))


@pytest.mark.parametrize("name", BY_THEMSELVES)
def test_analysis_emits_start_progress_and_findings(name: str) -> None:
    started, *between, analysed = events_of(name)
    assert isinstance(started, Started)
    assert started.environment["torch"] == torch.__version__
    assert [event.step for event in between if isinstance(event, Advanced)] == list(range(1, started.max_steps + 1))
    curves = [event.step for event in between if isinstance(event, Measured)]
    assert curves == sorted(set(curves))
    assert len(curves) + started.max_steps == len(between)
    assert isinstance(analysed, Analysed)
    names = [finding.name for finding in analysed.findings]
    assert len(set(names)) == len(names) > 0
    timed = [event for event in between if isinstance(event, Advanced | Measured)]
    seconds = [event.seconds for event in [*timed, analysed]]
    assert seconds == sorted(seconds)


@pytest.mark.parametrize("name", [name for name in BY_THEMSELVES if name != "step_cost"])
def test_same_seed_gives_the_same_findings(name: str) -> None:
    assert findings_of(iter(events_of(name))) == findings_of(run(spec_of(name), 1))


@pytest.mark.parametrize("changed", [{"images": "digits"}, {"images": "digits", "cases": 20}])
def test_fig_1a_claims_nothing_of_other_images(changed: dict[str, Any]) -> None:
    task = {"name": "gradient_flow", "profile": "paper", "gains": [0.1], **changed}
    spec = resolve({"task": task, "norm": {"method": "recurrent_batch_norm"}})
    assert not [
        name for name, finding in findings_of(run(spec, 0)).items() if (finding.source or "").startswith("RBN Fig. 1a")
    ]


@pytest.mark.parametrize(
    ("changed", "claims"),
    [
        ({}, ["-3.1", "-2.02"]),
        ({"model": {"hidden_size": 101}}, []),
        ({"model": {"recurrent_init": "orthogonal"}}, []),
        ({"norm": {"sites": ["input", "recurrent"]}}, []),
        ({"norm": {"initial_state_noise": 0.2}}, []),
    ],
    ids=["figure", "model-hidden_size", "model-recurrent_init", "norm-sites", "norm-initial_state_noise"],
)
def test_fig_1a_claims_nothing_of_another_network(
    datasets_dir: Path, changed: dict[str, dict[str, Any]], claims: list[str]
) -> None:
    spec = resolve(
        {
            "task": {"name": "gradient_flow", "profile": "paper", "gains": [0.1]},
            "model": changed.get("model", {}),
            "norm": {"method": "recurrent_batch_norm", **changed.get("norm", {})},
        }
    )
    found = findings_of(run(spec, 0, datasets_dir=datasets_dir))
    of_figure = [finding for finding in found.values() if (finding.source or "").startswith("RBN Fig. 1a")]
    assert [finding.claim for finding in of_figure] == claims


@pytest.mark.parametrize("name", ["invariances", "fisher_geometry", "hidden_dynamics", "smallest_batch"])
def test_small_analyses_run_on_the_cpu_and_others_on_the_device(name: str) -> None:
    cuda = Resources(torch.device("cuda"))
    assert import_module(f"normcore.analyses.{name}").prepare(spec_of(name), 0, cuda).device == torch.device("cpu")
    assert step_cost.prepare(spec_of("step_cost"), 0, cuda).device == cuda.device


@pytest.mark.parametrize("options", [{"gain_init": 0.0}, {"gain_init": 0.1}, {"eps": 1.0}, {"affine": False}])
def test_claims_of_table_1_hold_for_any_gain_and_eps(options: dict[str, Any]) -> None:
    found = findings_of(run(spec_of("invariances", norm={"method": "layer_norm", **options}), 0))
    assert len(found) == 7
    assert all(finding.holds for finding in found.values())


def test_layer_norm_of_the_output_layer_only_gets_no_claim_of_invariance() -> None:
    found = findings_of(run(spec_of("invariances", norm={"method": "layer_norm", "sites": ["output"]}), 0))
    assert {(finding.verdict, finding.claim) for finding in found.values()} == {("not invariant", None)}


@pytest.mark.parametrize("analysis", ["invariances", "hidden_dynamics"])
def test_method_without_sites_gets_no_claims_of_the_paper(analysis: str) -> None:
    found = findings_of(run(spec_of(analysis, norm={"method": "layer_norm", "sites": []}), 0))
    assert len(found) >= 6
    assert {finding.claim for finding in found.values()} == {None}


def test_layer_norm_of_a_single_term_gets_no_claim_on_the_sum_of_both_terms() -> None:
    found = findings_of(run(spec_of("hidden_dynamics", norm={"method": "layer_norm", "sites": ["input"]}), 0))
    assert {finding.claim for finding in found.values()} == {None}


@cache
def trained(task: str, **norm: float) -> bytes:
    """Train shortly with recurrent batch norm; return ``model.pt``."""
    written = {"task": {"name": task, "profile": "smoke"}, "norm": {"method": "recurrent_batch_norm", **norm}}
    *_, finished = run(resolve({**written, "training": {"max_steps": 4, "eval_every": 4}}), 0)
    assert isinstance(finished, Finished)
    return finished.model()


@pytest.mark.parametrize("forgone", [None, "nobody has built them"])
def test_trained_model_runs_by_the_given_kernel(forgone: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    model = trained("char_lm")
    monkeypatch.setattr(import_module("normcore.kernels.cpu.load"), "_forgone", forgone)
    task = {"name": "length_generalization", "run": RUN, "lengths": [20]}
    started, *_ = run(resolve({"task": task}), 0, trained=model)
    assert isinstance(started, Started)
    told = ("fused", describe_build("LSTM")) if forgone is None else ("reference", None)
    assert (started.kernel, started.environment["kernels"]) == told


def papers_run(**changed: dict[str, Any]) -> TrainingSpec:
    """Resolve the spec of the paper's language model, with changes if any."""
    parts: dict[str, Any] = {
        "task": {"name": "char_lm", "profile": "paper"},
        "norm": {"method": "recurrent_batch_norm"},
    }
    spec = resolve(parts | {part: {**parts.get(part, {}), **options} for part, options in changed.items()})
    assert isinstance(spec, TrainingSpec)
    return spec


def test_run_of_the_paper_is_recognized() -> None:
    assert is_the_papers_run(papers_run(), RecurrentBatchNorm)
    assert is_the_papers_run(papers_run(training={"target": 1.4}), RecurrentBatchNorm)
    assert not is_the_papers_run(papers_run(), LayerNorm)


@pytest.mark.parametrize(
    "changed",
    [
        {"task": {"profile": "small"}},
        {"task": {"corpus": "pydoc"}},
        {"task": {"sequence_length": 50}},
        {"model": {"cell": "gru"}},
        {"model": {"hidden_size": 999}},
        {"model": {"num_layers": 2}},
        {"norm": {"statistics": "shared"}},
        {"norm": {"sites": ["input"]}},
        {"norm": {"gain_init": 0.2}},
        {"norm": {"initial_state_noise": 0.1}},
        {"norm": {"method": "layer_norm"}},
        {"training": {"max_steps": 39_549}},
        {"training": {"batch_size": 65}},
    ],
    ids=str,
)
def test_run_with_any_change_is_not_the_run_of_the_paper(changed: dict[str, dict[str, Any]]) -> None:
    assert not is_the_papers_run(papers_run(**changed), RecurrentBatchNorm)


@pytest.mark.parametrize(
    "task",
    [{"name": "population_statistics", "run": RUN}, {"name": "length_generalization", "run": RUN, "lengths": [20]}],
)
def test_other_runs_than_that_of_the_paper_get_no_claims(task: dict[str, Any]) -> None:
    found = findings_of(run(resolve({"task": task}), 0, trained=trained("char_lm")))
    assert len(found) >= 2
    assert {(finding.claim, finding.holds, finding.source) for finding in found.values()} == {(None, None, None)}


@pytest.mark.parametrize(
    ("analysis", "task", "claims"),
    [
        (population_statistics, "char_lm", 3),  # convergence of two norms, and first variance of one
        (population_statistics, "sequential_digits", 0),
        (length_generalization, "char_lm", 2),  # better than batch statistics, and falling
    ],
)
def test_run_of_the_paper_gets_claims_only_if_it_is_a_language_model(
    analysis: ModuleType, task: str, claims: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analysis, "is_the_papers_run", lambda *_: True)
    name = analysis.__name__.rpartition(".")[2]
    lengths = {"lengths": [20, 100]} if analysis is length_generalization else {}
    found = findings_of(run(resolve({"task": {"name": name, "run": RUN, **lengths}}), 0, trained=trained(task)))
    assert sum(finding.holds is not None for finding in found.values()) == claims


@pytest.mark.parametrize("noise", [0.0, 0.1])
def test_recurrent_term_starts_without_variance_unless_noise_is_added(noise: float) -> None:
    model = trained("sequential_digits", initial_state_noise=noise)
    found = findings_of(run(resolve({"task": {"name": "population_statistics", "run": RUN}}), 0, trained=model))
    assert (found["recurrent.cells.0.norm_h: variance at t = 0"].value == 0) is (noise == 0)


@pytest.mark.parametrize(("lengths", "rises"), [([10, 20], False), ([10, 20, 50], True)])
def test_rise_is_measured_over_lengths_from_the_training_length_on(lengths: list[int], rises: bool) -> None:
    """A training sequence of the smoke profile has 20 characters."""
    task = {"name": "length_generalization", "run": RUN, "lengths": lengths}
    found = findings_of(run(resolve({"task": task}), 0, trained=trained("char_lm")))
    assert ("rise with length" in found) is rises
    assert {f"length {length}" for length in lengths} <= found.keys()


def test_weight_norm_with_mean_only_batch_norm_gets_no_claims_of_table_1() -> None:
    found = findings_of(run(spec_of("invariances", norm={"method": "weight_norm", "mean_only_batch_norm": True}), 0))
    assert {finding.claim for finding in found.values()} == {None}


def test_method_that_the_paper_does_not_have_gets_no_claims() -> None:
    found = findings_of(run(spec_of("invariances", norm={"method": "rms_norm"}), 0))
    assert {(finding.claim, finding.holds, finding.source) for finding in found.values()} == {(None, None, None)}


def test_gradients_are_reported_at_every_step_for_every_gain() -> None:
    events = list(run(spec_of("gradient_flow", norm={"method": "recurrent_batch_norm"}), 0))
    curves: dict[str, list[int]] = {}
    for event in events:
        if isinstance(event, Measured):
            for name in event.values:
                curves.setdefault(name, []).append(event.step)
    assert curves == {f"gradient_norm gain={gain}": list(range(64)) for gain in ("0.1", "1")}
    found = findings_of(iter(events))
    assert found["gradient_norm gain=0.1: decades lost"].verdict == "reaches back"
    assert found["gradient_norm gain=1: decades lost"].verdict == "vanishes"
    assert found["tanh_derivative std=0.5"].value == pytest.approx(0.827, abs=1e-3)


def test_pieces_of_a_curve_are_joined() -> None:
    events = run(spec_of("smallest_batch", norm={"method": "layer_norm"}), 0)
    assert [event.step for event in events if isinstance(event, Measured)] == [1, 2, 4, 8, 16, 32, 64]


def test_method_without_a_gain_is_measured_a_single_time() -> None:
    found = findings_of(run(spec_of("gradient_flow", norm={"method": "none"}), 0))
    assert [name for name in found if name.startswith("gradient_norm")] == ["gradient_norm: decades lost"]


def test_layer_norm_keeps_magnitudes_at_every_scale() -> None:
    normalized = findings_of(run(spec_of("hidden_dynamics", norm={"method": "layer_norm"}), 0))
    assert {(f.verdict, f.holds) for name, f in normalized.items() if "norm_sum" in name} == {("stable", True)}


def test_unnormalized_network_gets_the_claim_only_for_scales_other_than_1() -> None:
    found = findings_of(run(spec_of("hidden_dynamics"), 0))
    claimed = {name.rpartition("*")[2]: f.holds for name, f in found.items() if f.claim == "grows or shrinks"}
    assert claimed == {"0.5": True, "1.5": True, "2": True}
    assert found["cells.0.norm_sum.summed_inputs W_h*1"].verdict == "stable"


@pytest.mark.parametrize(
    "parts", [{"norm": {"method": "layer_norm", "eps": 1.0}}, {"model": {"recurrent_init": "uniform"}}]
)
def test_section_3_1_claims_nothing_of_other_networks(parts: dict[str, Any]) -> None:
    found = findings_of(run(spec_of("hidden_dynamics", **parts), 0))
    assert {finding.claim for finding in found.values()} == {None}


def test_values_that_are_not_finite_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def piece() -> Report:
        return Report([Finding("a", math.nan, "no number")], {"curve": [(0, 1.0), (1, math.inf), (2, 3.0)]})

    prepare: Callable[[AnalysisSpec, int, Resources], Work] = lambda spec, seed, resources: Work([piece])  # noqa: E731
    monkeypatch.setattr(hidden_dynamics, "prepare", prepare)
    events = list(analyse(spec_of("hidden_dynamics"), 0))
    assert [(e.step, e.values) for e in events if isinstance(e, Measured)] == [(0, {"curve": 1.0}), (2, {"curve": 3.0})]
    assert findings_of(iter(events))["a"].value is None


ONES_OWN = """
from normcore.analyses.report import Finding, Report
from normcore.analyse import Work
from normcore.spec.analyses.hidden_dynamics import HiddenDynamics

class OnesOwn(HiddenDynamics):
    home = "ones_own"

def prepare(spec, seed, resources):
    return Work([lambda: Report([Finding("mine", float(seed), "the seed")])])
"""


def test_analysis_of_another_package_runs_in_its_home_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ones_own.py").write_text(ONES_OWN)
    monkeypatch.syspath_prepend(tmp_path)
    spec = spec_of("hidden_dynamics").model_copy(update={"task": import_module("ones_own").OnesOwn()})
    assert findings_of(run(spec, 7)).keys() == {"mine"}


def test_missing_device_is_refused() -> None:
    with pytest.raises(ValueError, match="expected device cpu or cuda"):
        next(run(spec_of("invariances"), 0, device="mps"))
