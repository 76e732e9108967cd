"""Bits per character by length equal those of segments read one by one, and of batches as in training."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from normcore import tasks
from normcore.analyses.length_generalization import (
    LENGTHS,
    LengthScore,
    findings_of,
    length_generalization,
    rise_findings,
)
from normcore.data.text import Corpus
from normcore.models.language_model import LanguageModel
from normcore.norms.population import population_statistics, wants_population
from normcore.spec import TrainingSpec, resolve
from normcore.spec.analyses.length_generalization import LengthGeneralization
from normcore.spec.tasks.char_lm import CharLM
from normcore.tasks.char_lm import CharacterModelling
from normcore.tasks.task import Resources
from normcore.trained_model import TrainedModel
from tests.normcore.networks import recurrent

RESOURCES = Resources(None, torch.device("cpu"), torch.float64)
NUM_SYMBOLS, LENGTH = 7, 10
RBN = {"method": "recurrent_batch_norm"}
TEXT = torch.randint(NUM_SYMBOLS, (2503,), generator=torch.Generator().manual_seed(0))  # the test text


def trained(norm: dict[str, Any], **options: Any) -> TrainedModel:
    """Make a model with large random weights, and population statistics from segments of ten characters."""
    corpus = Corpus(TEXT[:1000], TEXT[:200], TEXT, "abcdefg", {})
    task = CharacterModelling(CharLM(sequence_length=LENGTH, **options), RESOURCES, corpus)
    torch.manual_seed(0)
    model = LanguageModel(recurrent("lstm", NUM_SYMBOLS, 5, norm=norm), NUM_SYMBOLS).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3)
        if wants_population(model):
            with population_statistics(model):
                for batch in task.population():
                    task.observe(model, batch)
    spec = resolve({"task": {"name": "char_lm", "profile": "smoke"}, "norm": norm})
    assert isinstance(spec, TrainingSpec)
    return TrainedModel(spec, 0, task, model)


def bits(logits: Tensor, targets: Tensor) -> np.ndarray:
    """Compute -log2 of the probability of every target."""
    p = np.exp(logits.numpy()) / np.exp(logits.numpy()).sum(-1, keepdims=True)
    return np.asarray(-np.log2(np.take_along_axis(p, targets.numpy()[..., None], -1)))


def segments(length: int) -> list[Tensor]:
    return [TEXT[start : start + length] for start in range(0, len(TEXT) - length + 1, length)]


@torch.no_grad()
def read_one_by_one(model: torch.nn.Module, length: int) -> float:
    """Read each segment alone from the first state; return the mean bits."""
    return float(np.mean([bits(model(s[:-1, None])[0], s[1:, None]) for s in segments(length)]))


@torch.no_grad()
def read_as_in_training(model: torch.nn.Module, length: int) -> float:
    """Read a hundred segments at once in training mode; return the mean bits."""
    every, model = segments(length), model.train()
    batches = [torch.stack(every[start : start + 100], 1) for start in range(0, len(every), 100)]
    read = np.concatenate([bits(model(x[:-1])[0], x[1:]).ravel() for x in batches])
    model.eval()
    return float(read.mean())


@pytest.mark.parametrize("length", [4, LENGTH, 33, 1000])
def test_both_scores_equal_segments_read_by_hand(length: int) -> None:
    """The lengths give between 625 segments, which are six batches and a quarter, and two segments."""
    rbn = trained(RBN)
    score = length_generalization(rbn, length)
    assert score.length == length
    assert score.population == pytest.approx(read_one_by_one(rbn.model, length), rel=1e-12)
    assert score.batch == pytest.approx(read_as_in_training(rbn.model, length), rel=1e-12)
    assert score.batch != pytest.approx(score.population, abs=1e-4)


def test_last_statistics_are_used_beyond_the_training_length() -> None:
    rbn = trained(RBN)
    before = [length_generalization(rbn, length) for length in (LENGTH, 50)]
    for site in "xhc":
        norm: Any = rbn.model.get_submodule(f"recurrent.cells.0.norm_{site}")
        norm.running_mean = torch.cat([norm.running_mean, norm.running_mean[-1:].expand(60, -1)])
        norm.running_var = torch.cat([norm.running_var, norm.running_var[-1:].expand(60, -1)])
    assert [length_generalization(rbn, length) for length in (LENGTH, 50)] == before


@pytest.mark.parametrize("method", ["none", "layer_norm", "weight_norm"])
def test_models_without_batch_norms_have_a_single_score(method: str) -> None:
    model = trained({"method": method})
    score = length_generalization(model, 40)
    assert score.batch is None
    assert score.population == pytest.approx(read_one_by_one(model.model, 40), rel=1e-12)


@pytest.mark.parametrize("method", [RBN, {"method": "sequence_batch_norm"}, {**RBN, "statistics": "shared"}])
def test_models_with_any_batch_norm_have_both_scores(method: dict[str, Any]) -> None:
    model = trained(method)
    score = length_generalization(model, 40)
    assert score.population == pytest.approx(read_one_by_one(model.model, 40), rel=1e-12)
    assert score.batch == pytest.approx(read_as_in_training(model.model, 40), rel=1e-12)


def test_default_lengths_are_those_of_the_figure() -> None:
    """Measured once, in bits per character, with an LSTM of 128 units and recurrent batch norm. It was trained for 700
    updates on 99 steps of the Penn Treebank, and for 1000 on 49 steps of Python's documentation. The 20,000 characters
    of test text of the documentation make 200, 66, 40 and 20 segments.

        ======  ==============  =========  ===============  ==========  =======================
        length  PTB population  PTB batch  docs population  docs batch  RBN's population, batch
        ======  ==============  =========  ===============  ==========  =======================
        100              1.969      2.013            1.741       1.839             1.398, 1.420
        300              1.944      1.987            1.716       1.828             1.348, 1.372
        500              1.938      1.981            1.715       1.865             1.338, 1.361
        1000             1.935      1.982            1.711       1.974             1.333, 1.362
        ======  ==============  =========  ===============  ==========  =======================
    """
    assert LengthGeneralization(run="run_01KAJ3V6BCDEFGHJKMNPQRSTVW").lengths == LENGTHS == (100, 300, 500, 1000)


def test_model_is_unchanged_after_the_analysis() -> None:
    rbn = trained(RBN)
    before = {name: value.clone() for name, value in rbn.model.state_dict().items()}
    first, again = (length_generalization(rbn, 20) for _ in range(2))
    assert first == again
    assert all(torch.equal(value, before[name]) for name, value in rbn.model.state_dict().items())
    assert not rbn.model.training


@pytest.mark.parametrize("length", [1, 1252, 2504])
def test_length_that_does_not_fit_twice_into_the_test_text_is_refused(length: int) -> None:
    with pytest.raises(ValueError, match=rf"2 to 1,251 characters, .* received {length:,}; use shorter ones"):
        length_generalization(trained(RBN), length)


def test_test_chars_shortens_the_text() -> None:
    with pytest.raises(ValueError, match=r"2 to 30 .* test text of 60 holds two, .* \(task.test_chars\)"):
        length_generalization(trained(RBN, test_chars=60), 31)


def test_a_model_of_another_task_is_refused() -> None:
    spec = resolve({"task": {"name": "permuted_digits", "profile": "smoke"}})
    assert isinstance(spec, TrainingSpec)
    task = tasks.build(spec.task, RESOURCES)
    with pytest.raises(ValueError, match="expected a model trained on char_lm, received one of permuted_digits"):
        length_generalization(TrainedModel(spec, 0, task, torch.nn.Identity()), 100)


@pytest.mark.parametrize(("population", "batch", "holds"), [(1.40, 1.42, True), (1.42, 1.40, False), (1.4, 1.4, False)])
def test_fig_3b_claims_that_population_statistics_are_better(population: float, batch: float, holds: bool) -> None:
    _, finding = findings_of(LengthScore(300, population, batch), is_the_figures=True)
    assert (finding.claim, finding.holds) == ("population statistics do better", holds)


@pytest.mark.parametrize(("length", "is_the_figures"), [(300, False), (50, True)])
def test_fig_3b_claims_nothing_of_other_networks_and_lengths(length: int, is_the_figures: bool) -> None:
    _, finding = findings_of(LengthScore(length, 1.40, 1.42), is_the_figures)
    assert (finding.claim, finding.holds, finding.source) == (None, None, None)


def curve(*bits: float) -> list[LengthScore]:
    return [LengthScore(length, value, value + 0.02) for length, value in zip((10, 100, 300, 1000), bits, strict=True)]


@pytest.mark.parametrize(
    ("bits", "rise", "holds"),
    [
        ((9.0, 1.40, 1.35, 1.33), -0.07, True),
        ((1.0, 1.40, 1.35, 1.33), -0.07, True),  # segments shorter than in training do not count
        ((9.0, 1.40, 1.35, 1.405), 0.005, False),
        ((9.0, 1.40, 1.35, 1.40), 0.0, False),
    ],
)
def test_fig_3b_claims_a_fall_beyond_the_training_length(bits: tuple[float, ...], rise: float, holds: bool) -> None:
    [finding] = rise_findings(curve(*bits), trained_length=100, is_the_figures=True)
    assert finding.value == pytest.approx(rise)
    assert (finding.claim, finding.holds) == ("falls", holds)
    [finding] = rise_findings(curve(*bits), trained_length=100, is_the_figures=False)
    assert (finding.claim, finding.holds) == (None, None)


def test_single_length_beyond_that_of_training_gives_no_finding_of_a_rise() -> None:
    assert rise_findings(curve(9.0, 1.4, 1.3, 1.2), trained_length=301, is_the_figures=True) == []
