"""Choose which statistics the batch norms of a model use, and collect the population statistics.

Models without batch norms do not change.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn

from normcore.norms.batch_statistics import BatchStatistics
from normcore.norms.step_average import StepAverage


@contextmanager
def batch_statistics(model: nn.Module) -> Iterator[None]:
    """Let the model's batch norms use the minibatch's statistics inside this context, in evaluation mode too."""
    before = [(norm, norm.uses_batch) for norm in batch_norms(model).values()]
    for norm, _ in before:
        norm.uses_batch = True
    try:
        yield
    finally:
        for norm, uses_batch in before:
            norm.uses_batch = uses_batch


@contextmanager
def population_statistics(model: nn.Module) -> Iterator[None]:
    """Collect the statistics of the forward passes inside this context. At the end their averages become the
    population statistics.

    For every step, the means and the biased variances of all minibatches are averaged with equal weights (Cooijmans
    et al. 2017, section 3 and code); the variance of the means is not added. Use this context under ``torch.no_grad``,
    in evaluation mode. After an exception the former statistics stay.

    Raises:
        ValueError: there was no forward pass; raised at the end of the context.
    """
    collected = [(norm, StepAverage()) for norm in batch_norms(model).values()]
    for norm, average in collected:
        norm.collecting = average
    try:
        yield
    finally:
        for norm, _ in collected:
            norm.collecting = None
    for norm, average in collected:
        norm.keep(average)


def wants_population(model: nn.Module) -> bool:
    """Tell if the model has batch norms whose population statistics must come from a separate pass, because they have
    no running averages."""
    return any(norm.momentum is None for norm in batch_norms(model).values())


def batch_norms(model: nn.Module) -> dict[str, BatchStatistics]:
    """Return all modules of the model that normalize over the batch, by their names in the model."""
    return {name: module for name, module in model.named_modules() if isinstance(module, BatchStatistics)}
