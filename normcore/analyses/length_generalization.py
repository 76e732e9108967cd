"""Analysis: score of a character model on longer segments than it was trained on. Cooijmans et al. 2017,
arXiv:1603.09025v5, Fig. 3b.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

import torch

from normcore.analyses.report import Report, Resources, Work, is_the_papers_run
from normcore.events import Finding
from normcore.norms.population import batch_norms, batch_statistics
from normcore.spec import AnalysisSpec
from normcore.spec.analyses.length_generalization import LengthGeneralization
from normcore.spec.methods.recurrent_batch_norm import RecurrentBatchNorm
from normcore.spec.tasks.char_lm import CharLM as Options
from normcore.tasks.char_lm import CharacterModelling
from normcore.trained_model import TrainedModel

LENGTHS = (100, 300, 500, 1000)  # characters; the figure's curves have these lengths


@dataclass(frozen=True, slots=True)
class LengthScore:
    """Score on the test text in segments of one length, in bits per character.

    Attributes:
        length: characters in a segment; one less is predicted.
        population: score with population statistics. Beyond the last step that has statistics, the last are used.
        batch: score with the statistics of each batch of segments; None for models without batch norms.
    """

    length: int
    population: float
    batch: float | None


def prepare(spec: AnalysisSpec, seed: int, resources: Resources) -> Work:
    """Prepare the analysis of Fig. 3b for the trained model that the task names: one piece for each length."""
    trained = resources.load_trained()
    is_the_figures = is_the_papers_run(trained.spec, RecurrentBatchNorm)
    trained_length = cast(Options, trained.spec.task).sequence_length
    scores: list[LengthScore] = []

    def measure(length: int) -> Report:
        score = length_generalization(trained, length)
        scores.append(score)
        curves = {f"{kind}.bits_per_char": [(length, bits)] for kind, bits in _bits(score).items()}
        return Report(findings_of(score, is_the_figures), curves)

    def conclude() -> Report:
        return Report(rise_findings(scores, trained_length, is_the_figures))

    lengths = cast(LengthGeneralization, spec.task).lengths
    pieces: list[Callable[[], Report]] = [*(partial(measure, length) for length in lengths), conclude]
    return Work(pieces, trained.task.checksums, resources.device, trained.model)


def _bits(score: LengthScore) -> dict[str, float]:
    return {"population": score.population} | ({} if score.batch is None else {"batch": score.batch})


def findings_of(score: LengthScore, is_the_figures: bool) -> list[Finding]:
    """Findings: the scores of one length with population statistics and with batch statistics.

    The paper claims, for the figure's network and lengths, that population statistics do better (RBN section 5.2:
    "using the population statistics improves generalization performance").
    """
    population = Finding(f"length {score.length}", score.population, "bits per character, population statistics")
    if score.batch is None:
        return [population]
    batch = Finding(
        f"length {score.length}: batch statistics",
        score.batch,
        "bits per character, statistics of each batch of segments",
    )
    if is_the_figures and score.length in LENGTHS:
        better = score.population < score.batch
        batch = batch.against("population statistics do better", better, "RBN section 5.2, Fig. 3b")
    return [population, batch]


def rise_findings(scores: Sequence[LengthScore], trained_length: int, is_the_figures: bool) -> list[Finding]:
    """Finding on the rise of the score from the shortest to the longest length; lengths below ``trained_length`` do not
    count. The list is empty if fewer than two lengths count.

    The figure's curve falls by 0.065 bits from 100 to 1000 characters. The paper's text says that to repeat the last
    population statistics "is a viable strategy".

    Args:
        scores: scores in the order of growing length.
        trained_length: length of the segments in training.
    """
    beyond = [score for score in scores if score.length >= trained_length]
    if len(beyond) < 2:
        return []
    shortest, longest = beyond[0], beyond[-1]
    finding = Finding(
        "rise with length",
        longest.population - shortest.population,
        f"bits per character at length {longest.length:,} less those at {shortest.length:,}",
    )
    if is_the_figures and longest.length in LENGTHS:
        falls = longest.population < shortest.population
        finding = finding.against("falls", falls, "RBN Fig. 3b, read off the figure")
    return [finding]


def length_generalization(trained: TrainedModel, length: int) -> LengthScore:
    """Test the model on consecutive segments of one length; each segment starts with the initial state.

    Segments come in batches of 100, as in the authors' code. A short text makes smaller batches, with noisier
    statistics: 20,000 characters have only twenty segments of 1000.

    Raises:
        ValueError: the model was trained on another task than ``char_lm``, or the test text does not hold two segments.
    """
    task, model = trained.task, trained.model
    if not isinstance(task, CharacterModelling):
        raise ValueError(f"expected a model trained on char_lm, received one of {trained.spec.task.name}; train one")
    with torch.no_grad():
        population = task.test_segments(model, length)["bits_per_char"]
        if not batch_norms(model):
            return LengthScore(length, population, None)
        with batch_statistics(model):
            return LengthScore(length, population, task.test_segments(model, length)["bits_per_char"])
