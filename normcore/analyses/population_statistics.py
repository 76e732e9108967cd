"""Analysis: population statistics of a batch norm by time step. Cooijmans et al. 2017, arXiv:1603.09025v5, Fig. 5.

Shapes: T steps that have statistics, F features.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from normcore.analyses.report import Report, Resources, Work, is_the_papers_run
from normcore.events import Finding
from normcore.norms.batch_statistics import BatchStatistics
from normcore.spec import AnalysisSpec
from normcore.spec.methods.recurrent_batch_norm import RecurrentBatchNorm

SETTLED_BY = 10  # steps
TOLERANCE = 0.05  # relative deviation of the variance from its last value


@dataclass(frozen=True, slots=True)
class StatisticsByStep:
    """Population statistics of one norm at every step.

    A deviation is the median over the features of |s_t - s_last| / |s_last|; at the last step it is 0. Features with
    last value 0 are left out; deviations are None if no feature is left.

    Attributes:
        site: the norm's name in the model, such as ``recurrent.cells.0.norm_h``.
        mean: T population means, averaged over the features. Fig. 5 draws single units.
        variance: T population variances, averaged over the features.
        mean_deviation, variance_deviation: T deviations of the means and of the variances.
        converged_at: the first step from which on ``variance_deviation`` stays within 5 %.
        starts_without_variance: whether all variances are exactly 0 at the first step. Variances of the recurrent term
            have to be 0 there, as all examples share the first state.
    """

    site: str
    mean: list[float]
    variance: list[float]
    mean_deviation: list[float] | None
    variance_deviation: list[float] | None
    converged_at: int | None
    starts_without_variance: bool


def prepare(spec: AnalysisSpec, seed: int, resources: Resources) -> Work:
    """Prepare the analysis of Fig. 5 for the trained model that the task names."""
    trained = resources.load_trained()
    is_the_figures = trained.spec.task.name == "char_lm" and is_the_papers_run(trained.spec, RecurrentBatchNorm)

    def measure() -> Report:
        by_step = statistics_by_step(trained.model)
        return Report(
            [finding for statistics in by_step for finding in findings_of(statistics, is_the_figures)],
            {name: list(enumerate(values)) for statistics in by_step for name, values in _curves(statistics)},
        )

    return Work([measure], trained.task.checksums, resources.device)


def findings_of(statistics: StatisticsByStep, is_the_figures: bool) -> list[Finding]:
    """Findings on the step at which the variance settles, and on the first variance of the recurrent term.

    The claims are about the recurrent term and the cell of the paper's language model. At first the variance differs
    from its last value (section 3); by step 10 the figure's variances are within 5 % of it. The variance of the
    recurrent term begins at 0, as all examples share the first state.
    """
    site, at = statistics.site, statistics.converged_at
    settled = Finding(
        f"{site}: variance settled at",
        at,
        f"first step from which on the variance stays within {TOLERANCE:.0%} of the last step's, median feature",
    )
    if is_the_figures and site.endswith(("norm_h", "norm_c")):
        claim = f"after the first step, and by step {SETTLED_BY}"
        settled = settled.against(claim, at is not None and 0 < at <= SETTLED_BY, "RBN section 3; Fig. 5, read off it")
    if not site.endswith("norm_h"):
        return [settled]
    first = Finding(f"{site}: variance at t = 0", statistics.variance[0], "mean over the features")
    if is_the_figures:
        first = first.against("0", statistics.starts_without_variance, "RBN Fig. 5, read off the figure")
    return [settled, first]


def _curves(statistics: StatisticsByStep) -> Iterator[tuple[str, list[float]]]:
    for name in ("mean", "variance", "mean_deviation", "variance_deviation"):
        yield f"{statistics.site}.{name}", getattr(statistics, name) or []


def statistics_by_step(model: nn.Module) -> list[StatisticsByStep]:
    """Population statistics of all batch norms that have statistics for every step, in the order of ``named_modules``.

    Steps of a backward direction are in the order in which that direction reads.

    Raises:
        ValueError: the model has no batch norm with statistics for every step.
    """
    norms = [(name, norm) for name, norm in model.named_modules() if isinstance(norm, BatchStatistics)]
    by_step = [_statistics_by_step(name, norm) for name, norm in norms if len(norm.running_mean) > 1]
    if not by_step:
        raise ValueError(_what_is_missing([norm for _, norm in norms]))
    return by_step


def _what_is_missing(norms: list[BatchStatistics]) -> str:
    expected = "expected batch norms with population statistics for every step, received"
    if not norms:
        return f"{expected} a model without batch norms; train one with recurrent_batch_norm"
    if all(len(norm.running_mean) == 0 for norm in norms):
        return f"{expected} none; run forward passes over the training data inside population_statistics(model)"
    return f"{expected} one for all steps; train the model with recurrent_batch_norm and statistics: per_step"


def _statistics_by_step(site: str, norm: BatchStatistics) -> StatisticsByStep:
    mean, variance = _numbers(norm.running_mean), _numbers(norm.running_var)
    variance_deviation = _deviation(variance)
    return StatisticsByStep(
        site=site,
        mean=mean.mean(1).tolist(),
        variance=variance.mean(1).tolist(),
        mean_deviation=_deviation(mean),
        variance_deviation=variance_deviation,
        converged_at=None if variance_deviation is None else _find_convergence(variance_deviation),
        starts_without_variance=not variance[0].any(),
    )


def _numbers(statistic: Tensor) -> NDArray[np.float64]:
    return statistic.detach().cpu().double().numpy()


def _deviation(statistic: NDArray[np.float64]) -> list[float] | None:
    """Deviation of a statistic at every step, as in ``StatisticsByStep``: (T, F) -> T numbers."""
    compared = statistic[:, statistic[-1] != 0]
    if compared.size == 0:
        return None
    last = compared[-1]
    deviation: list[float] = np.median(np.abs(compared - last) / np.abs(last), axis=1).tolist()
    return deviation


def _find_convergence(deviation: list[float]) -> int:
    beyond = [t for t, value in enumerate(deviation) if value > TOLERANCE]
    return beyond[-1] + 1 if beyond else 0
