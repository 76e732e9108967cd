"""How a character model does on segments longer than it was trained on: Cooijmans et al. 2017, arXiv:1603.09025v5,
Fig. 3b.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

import torch
from torch import nn

from normcore.analyses.report import Place, Report, Work
from normcore.events import Finding
from normcore.norms.population import batch_norms, batch_statistics
from normcore.spec import AnalysisSpec, tasks
from normcore.spec.norm import USUAL_SITES, Method, RecurrentBatchNorm
from normcore.tasks.char_lm import CharacterModelling
from normcore.trained import Trained

LENGTHS = (100, 300, 500, 1000)  # characters
NO_RISE = 0.01  # bits per character
FIGURE = ("per_step", USUAL_SITES["lstm"])  # statistics and sites of the paper's batch norm


@dataclass(frozen=True, slots=True)
class LengthScore:
    """Bits per character of the test text in segments of one length.

    Attributes:
        length: characters of a segment: one more than predictions.
        population: with population statistics, those of the last known step in use beyond it.
        batch: with the statistics of each batch of segments; None for models without batch norms.
    """

    length: int
    population: float
    batch: float | None


def prepare(spec: AnalysisSpec, seed: int, place: Place) -> Work:
    """Fig. 3b for the model of the run that the task names, one piece for each length."""
    trained = place.load_trained()
    scores: list[LengthScore] = []

    def measure(length: int) -> Report:
        [score] = length_generalization(trained, [length])
        scores.append(score)
        curves = {f"{kind}.bits_per_char": [(length, bits)] for kind, bits in _bits(score).items()}
        return Report(list(_findings(score, trained.spec.norm)), curves)

    def conclude() -> Report:
        return Report(list(_rise(scores, cast(tasks.CharLM, trained.spec.task).sequence_length)))

    lengths = sorted(cast(tasks.LengthGeneralization, spec.task).lengths)
    return Work([*(partial(measure, length) for length in lengths), conclude], trained.task.checksums, place.device)


def _bits(score: LengthScore) -> dict[str, float]:
    return {"population": score.population} | ({} if score.batch is None else {"batch": score.batch})


def _findings(score: LengthScore, norm: Method) -> Iterator[Finding]:
    """The figure's claim is of batch norm with statistics of each step, at all the usual sites."""
    yield Finding(f"length {score.length}", score.population, "bits per character, population statistics")
    if score.batch is not None:
        claimed = isinstance(norm, RecurrentBatchNorm) and (norm.statistics, norm.sites) == FIGURE
        finding = Finding(
            f"length {score.length}: batch statistics",
            score.batch,
            "bits per character, statistics of each batch of segments",
        )
        better = score.population < score.batch
        yield finding.against("population statistics do better", better, "RBN Fig. 3b") if claimed else finding


def _rise(scores: Sequence[LengthScore], trained_length: int) -> Iterator[Finding]:
    """The figure's claim is of lengths beyond that of training."""
    shortest, longest = scores[0], scores[-1]
    if shortest.length == longest.length:
        return
    rise, beyond = longest.population - shortest.population, longest.length > trained_length
    finding = Finding(
        "rise with length",
        rise,
        f"bits per character at the greatest length less those at the smallest; up to {NO_RISE:g} is none",
    )
    yield finding.against("none", rise <= NO_RISE, "RBN Fig. 3b") if beyond else finding


def length_generalization(trained: Trained, lengths: Iterable[int] = LENGTHS) -> list[LengthScore]:
    """Test the model on segments of each length, from the text's start on, the state beginning anew in each.

    The paper finds population statistics better than batch statistics at every length, and no systematic rise beyond
    the length of training. Segments come in batches of 100, as in the authors' code. A short text makes smaller ones,
    whose statistics are noisier: of 20,000 characters there are but twenty segments of 1000.

    Raises:
        ValueError: the model is of another task than ``char_lm``, or the test text does not hold two segments.
    """
    task, model = trained.task, trained.model
    if not isinstance(task, CharacterModelling):
        raise ValueError(f"expected a model trained on char_lm, received one of {trained.spec.task.name}; train one")
    normalizes_batch = bool(batch_norms(model))
    with torch.no_grad():
        return [_score(task, model, length, normalizes_batch) for length in lengths]


def _score(task: CharacterModelling, model: nn.Module, length: int, normalizes_batch: bool) -> LengthScore:
    population = task.test_segments(model, length)["bits_per_char"]
    if not normalizes_batch:
        return LengthScore(length, population, None)
    with batch_statistics(model):
        return LengthScore(length, population, task.test_segments(model, length)["bits_per_char"])
