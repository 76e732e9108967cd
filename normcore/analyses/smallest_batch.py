"""Analysis: the smallest batch with which a normalization trains, on handwritten digits that are read row by row.

Shapes: T = 8 rows of F = 8 pixels, N images, B images in a batch.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from normcore.analyses.report import Report, Resources, Work
from normcore.data import digits
from normcore.data.images import ImageSplits, LabelledImages
from normcore.events import Finding
from normcore.models.classifier import SequenceClassifier
from normcore.norms.population import population_statistics, wants_population
from normcore.recurrent import Recurrent
from normcore.seeding import order_generator, reproducible
from normcore.spec import AnalysisSpec
from normcore.spec.analyses.smallest_batch import BATCH_SIZES, CLASSES, PIXELS_PER_ROW, ROWS, SmallestBatch
from normcore.spec.methods.method import Method
from normcore.spec.models.recurrent import RecurrentModel
from normcore.spec.optimizers import rmsprop as spec
from normcore.training.clipping import shorten_
from normcore.training.optimizers.rmsprop import RMSProp
from normcore.training.order import TrainingOrder

OPTIMIZER, CLIP_NORM = spec.RMSProp(lr=2e-3), 1.0
THRESHOLD = 0.2  # see ``smallest_that_trains``


@dataclass(frozen=True, slots=True)
class BatchResult:
    """Result of training at one batch size.

    Attributes:
        accuracy: accuracy on the validation split; None if the batch was refused, or if the loss or a logit was not
            finite.
        refused: reason why the method refuses batches of this size; None if it accepts them.
    """

    batch_size: int
    accuracy: float | None
    refused: str | None


def prepare(asked: AnalysisSpec, seed: int, resources: Resources) -> Work:
    """Prepare the analysis: train the spec's model and norm with batches of 1, 2, 4, ... 64 digits, and validate it.

    All sizes have the same number of updates, the same initial weights and the same shuffled images; small batches see
    fewer images. Compare sizes by accuracy; ``smallest_batch`` only says which size does better than guessing.
    """
    model, norm = cast(RecurrentModel, asked.model), cast(Method, asked.norm)
    updates = cast(SmallestBatch, asked.task).updates
    splits = digits.load()
    results: list[BatchResult] = []

    def train(batch_size: int) -> Report:
        result = train_at(model, norm, batch_size, seed, splits, updates)
        results.append(result)
        curve = [] if result.accuracy is None else [(batch_size, result.accuracy)]
        return Report([_finding(result)], {"valid.accuracy": curve})

    def conclude() -> Report:
        smallest = smallest_that_trains(results)
        meaning = f"smallest batch with an accuracy of {THRESHOLD:g} or more, twice guessing, after {updates} updates"
        return Report([Finding("smallest_batch", smallest, meaning)])

    return Work([*(partial(train, batch_size) for batch_size in BATCH_SIZES), conclude], splits.checksums)


def _finding(result: BatchResult) -> Finding:
    meaning = result.refused or "validation accuracy"
    return Finding(
        f"batch of {result.batch_size}",
        result.accuracy,
        meaning,
        verdict="refused" if result.refused else "diverges" if result.accuracy is None else None,
    )


def smallest_that_trains(results: Iterable[BatchResult]) -> int | None:
    """Smallest batch size with an accuracy of at least ``THRESHOLD``, twice the accuracy of guessing.

    After 600 updates, networks of 32 units are well above the threshold at every batch size that their method accepts.
    Seven methods in three cells were run with up to five seeds. The lowest accuracies at batch size 1 were 0.31 to 0.50
    (dynamic tanh, LSTM) and 0.46 to 0.53 (no normalization, LSTM). At batch size 2 they were 0.37 to 0.59 (recurrent
    batch norm, all cells). Guessing gets 0.10 +- 0.017. A higher threshold would separate fast from slow learning, as
    small batches have seen fewer digits. After 300 updates, dynamic tanh at batch size 1 and recurrent batch norm at
    batch size 2 can still be at 0.14 to 0.17.
    """
    return min((r.batch_size for r in results if r.accuracy is not None and r.accuracy >= THRESHOLD), default=None)


def train_at(
    model: RecurrentModel, norm: Method, batch_size: int, seed: int, splits: ImageSplits, updates: int
) -> BatchResult:
    """Train a new network with batches of ``batch_size``, and validate it.

    Raises:
        ValueError: the method or an option does not fit this cell.
    """
    with reproducible(seed, torch.device("cpu"), torch.get_num_threads()):
        classifier = SequenceClassifier(Recurrent(model, PIXELS_PER_ROW, norm), CLASSES)
        try:
            finite = _train(classifier, splits.train, batch_size, seed, updates)
        except ValueError as error:
            return BatchResult(batch_size, None, str(error))
        return BatchResult(batch_size, accuracy(classifier, splits) if finite else None, None)


@torch.no_grad()
def accuracy(model: nn.Module, splits: ImageSplits) -> float | None:
    """Share of validation images that are classified correctly in evaluation mode; None if a logit is not finite.

    Population statistics come from one pass over all training images in one batch, for every batch size of training.
    So they are exact, as in the tasks on digits, and only training is compared. RBN's authors also use larger batches
    for that pass (5,000 images; training has 100). Batches as small as in training would give a biased variance: at
    batch size 2, half of the population's variance.
    """
    model.eval()
    if wants_population(model):
        with population_statistics(model):
            model(rows(splits.train))
    logits = model(rows(splits.valid))
    if not logits.isfinite().all():
        return None
    correct = int((logits.argmax(-1) == splits.valid.labels).sum())
    return correct / len(splits.valid)


def rows(images: LabelledImages) -> Tensor:
    """Turn images into sequences with a row of pixels at each step, time-major: (T, N, F) in [0, 1]."""
    return images.sequences(torch.float32).view(ROWS, PIXELS_PER_ROW, len(images)).transpose(1, 2)


def training_order(count: int, batch_size: int, seed: int) -> TrainingOrder:
    """Random order of ``count`` examples in batches of ``batch_size``.

    An epoch leaves out the last examples, which do not fill whole batches of every size. So no batch is smaller than
    ``batch_size``.
    """
    whole = count - count % max(BATCH_SIZES)

    def draw(generator: torch.Generator) -> Sequence[Tensor]:
        return torch.split(torch.randperm(count, generator=generator)[:whole], batch_size)

    return TrainingOrder(draw, order_generator(seed))


def _train(model: nn.Module, images: LabelledImages, batch_size: int, seed: int, updates: int) -> bool:
    """Train the model; returns whether all losses were finite."""
    x = rows(images)
    order = training_order(len(images), batch_size, seed)
    optimizer = RMSProp(OPTIMIZER, model.parameters())
    optimizer.largest = CLIP_NORM
    for _ in range(updates):
        examples = order.next_batch()
        loss = functional.cross_entropy(model(x[:, examples]), images.labels[examples])
        if not loss.isfinite():
            return False
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        shorten_([p.grad for p in model.parameters() if p.grad is not None], CLIP_NORM)
        optimizer.step()
    return True
