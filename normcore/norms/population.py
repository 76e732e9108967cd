"""Choice of the statistics that a model's batch norms use, and the source of the population's.

Models without batch norms are left alone.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn

from normcore.norms.batch_statistics import BatchStatistics
from normcore.norms.step_average import StepAverage


@contextmanager
def batch_statistics(model: nn.Module) -> Iterator[None]:
    """Inside, batch norms use the statistics of the minibatch, in evaluation mode too."""
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
    """Inside, forward passes are collected; at the end their averages become the population statistics.

    Minibatch means and minibatch biased variances are averaged for every step, all minibatches counting alike
    (Cooijmans et al. 2017, section 3 and code); the variance of the means plays no part. Use it under
    ``torch.no_grad``, in evaluation mode. After an exception the former statistics stay.

    Raises:
        ValueError: at the end, there was no forward pass.
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
    """Tell if there are batch norms whose population statistics have to come from a pass."""
    return any(norm.momentum is None for norm in batch_norms(model).values())


def batch_norms(model: nn.Module) -> dict[str, BatchStatistics]:
    """All that normalize over the batch, by their names in the model."""
    return {name: module for name, module in model.named_modules() if isinstance(module, BatchStatistics)}
