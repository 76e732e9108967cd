"""Statistics by step equal averages and medians computed one by one; findings are judged against Fig. 5."""

import statistics
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from normcore.analyses.population_statistics import StatisticsByStep, findings_of, statistics_by_step
from normcore.norms.batch_statistics import BatchStatistics
from normcore.norms.population import population_statistics
from normcore.recurrent import Recurrent
from tests.normcore.networks import recurrent


def network(cell: str = "lstm", hidden_size: int = 3, **options: Any) -> Recurrent:
    torch.manual_seed(0)
    return recurrent(cell, 2, hidden_size, norm={"method": "recurrent_batch_norm", **options}).double()


def with_statistics(mean: Any, variance: Any) -> StatisticsByStep:
    """Measure a single norm that has these statistics (T, F)."""
    norm = BatchStatistics(len(mean[0]))
    norm.running_mean, norm.running_var = (torch.tensor(s, dtype=torch.float64) for s in (mean, variance))
    [measured] = statistics_by_step(nn.ModuleDict({"norm_h": norm}))
    return measured


def by_hand(statistic: Tensor) -> tuple[Any, Any]:
    """Compute the average over the features, and the median of their relative deviations, step by step."""
    rows = statistic.tolist()
    deviations = [[abs(s - last) / abs(last) for s, last in zip(row, rows[-1], strict=True)] for row in rows]
    averages, medians = [sum(row) / len(row) for row in rows], [statistics.median(row) for row in deviations]
    return pytest.approx(averages, rel=1e-12, abs=1e-15), pytest.approx(medians, rel=1e-12)


def collect(network: Recurrent, *batches: Tensor) -> None:
    with torch.no_grad(), population_statistics(network):
        for x in batches:
            network(x)


def test_averages_and_median_deviations_equal_those_computed_one_by_one() -> None:
    """The terms have 12 features, whose median lies between two; the cell has 3."""
    rbn = network()
    collect(rbn.eval(), torch.randn(9, 8, 2, dtype=torch.float64), torch.randn(9, 8, 2, dtype=torch.float64))
    for measured in statistics_by_step(rbn):
        norm: Any = rbn.get_submodule(measured.site)
        if measured.site.endswith("norm_h"):  # at the first step all means are W_h h0 = 0
            assert set(norm.running_mean[0].tolist()) == {0.0}
        assert (measured.mean, measured.mean_deviation) == by_hand(norm.running_mean)
        assert (measured.variance, measured.variance_deviation) == by_hand(norm.running_var)


@pytest.mark.parametrize(
    ("cell", "sites", "expected"),
    [
        ("lstm", ["input", "recurrent", "cell"], ["norm_x", "norm_h", "norm_c"]),
        ("lstm", ["sum"], ["norm_sum"]),
        ("rnn", ["sum"], ["norm_sum"]),
    ],
)
def test_every_site_of_every_layer_is_measured_at_all_steps(cell: str, sites: list[str], expected: list[str]) -> None:
    torch.manual_seed(0)
    norm = {"method": "recurrent_batch_norm", "sites": sites}
    two_layers = recurrent(cell, 2, 3, num_layers=2, norm=norm).eval()
    collect(two_layers, torch.randn(6, 4, 2), torch.randn(7, 4, 2))
    measured = statistics_by_step(two_layers)
    assert [m.site for m in measured] == [f"cells.{layer}.{site}" for layer in (0, 1) for site in expected]
    assert {len(series) for m in measured for series in (m.mean, m.variance)} == {7}


def test_only_the_recurrent_term_has_no_variance_at_the_first_step() -> None:
    """Measured once, after 700 updates of 128 units on 99 steps of the Penn Treebank, deviations of the variance at the
    steps 1, 5, 10 and 20: 15.9, 1.3, 0.6 and 0.5 % of the recurrent term (RBN: 24, 4.8, 1.8 and 0.5 %), 12.3, 1.5, 0.6
    and 0.6 % of the cell (28, 7.7, 2.5 and 0.4 %). Both stay within 5 % from step 3 on.
    """
    rbn = network().eval()
    torch.nn.init.constant_(rbn.get_parameter("cells.0.h0"), 0.3)
    collect(rbn, torch.randn(6, 4, 2, dtype=torch.float64))
    starts = {m.site: (m.starts_without_variance, m.variance[0] == 0) for m in statistics_by_step(rbn)}
    assert starts == {
        "cells.0.norm_x": (False, False),
        "cells.0.norm_h": (True, True),
        "cells.0.norm_c": (False, False),
    }


def test_tiny_variance_of_a_single_feature_counts_as_variance() -> None:
    assert not with_statistics([[0, 0], [0, 0]], [[0, 1e-300], [1, 1]]).starts_without_variance
    assert with_statistics([[0, 0], [0, 0]], [[0, 0], [1, 1]]).starts_without_variance


def test_convergence_is_the_step_from_which_values_stay_within_5_percent() -> None:
    """All later values must stay within 5 %. Exactly 5 % counts as within."""
    variance = [[0], [100], [106], [105], [95], [100]]
    measured = with_statistics([[1]] * 6, variance)
    assert measured.variance_deviation == [1, 0, 0.06, 0.05, 0.05, 0]
    assert measured.converged_at == 3
    assert with_statistics([[1]] * 2, [[100], [100]]).converged_at == 0
    assert with_statistics([[1]] * 3, [[100], [300], [100]]).converged_at == 2


def test_deviations_and_means_use_absolute_values() -> None:
    measured = with_statistics([[-2, 4, 1], [-1, -2, 4]], [[1] * 3] * 2)
    assert measured.mean_deviation == [1, 0]  # the median of 1, 3 and 0.75
    assert measured.mean == [1, pytest.approx(1 / 3)]


def test_features_whose_last_value_is_0_are_left_out_of_the_deviations() -> None:
    measured = with_statistics([[3, 0, 7], [5, 0, 0]], [[1, 3, 5], [0, 2, 0]])
    assert measured.mean_deviation == [0.4, 0]
    assert measured.variance_deviation == [0.5, 0]
    assert measured.variance == [3, pytest.approx(2 / 3)]
    assert measured.converged_at == 1


def test_deviation_is_none_if_all_last_values_are_0() -> None:
    """All last values are 0 for mean-only batch norm, which has no variances."""
    torch.manual_seed(0)
    options = {"method": "weight_norm", "mean_only_batch_norm": True}
    mean_only = recurrent("rnn", 2, 3, norm=options).eval()
    collect(mean_only, torch.randn(6, 4, 2))
    for measured in statistics_by_step(mean_only):
        assert measured.mean_deviation is not None
        assert (measured.variance_deviation, measured.converged_at) == (None, None)
        assert measured.variance == [0] * 6


def test_a_model_without_batch_norms_is_refused() -> None:
    with pytest.raises(ValueError, match="a model without batch norms; train one with recurrent_batch_norm"):
        statistics_by_step(recurrent("lstm", 2, 3, norm={"method": "layer_norm"}))


def test_statistics_over_all_steps_are_refused() -> None:
    shared = recurrent("lstm", 2, 3, norm={"method": "sequence_batch_norm"}).eval()
    collect(shared, torch.randn(6, 4, 2))
    with pytest.raises(ValueError, match=r"received one for all steps; .*statistics: per_step"):
        statistics_by_step(shared)


def test_model_without_population_statistics_is_refused() -> None:
    with pytest.raises(ValueError, match=r"received none; run forward passes .* inside population_statistics"):
        statistics_by_step(network())


def by_step(site: str, converged_at: int | None, first: float = 0.0) -> StatisticsByStep:
    return StatisticsByStep(site, [0.0], [first, 1.0], [0.0], [1.0, 0.0], converged_at, first == 0)


@pytest.mark.parametrize(
    ("converged_at", "holds"), [(1, True), (3, True), (10, True), (11, False), (0, False), (None, False)]
)
@pytest.mark.parametrize("site", ["recurrent.cells.0.norm_h", "recurrent.cells.0.norm_c"])
def test_fig_5_claims_a_transient_of_at_most_ten_steps(site: str, converged_at: int | None, holds: bool) -> None:
    settled, *_ = findings_of(by_step(site, converged_at), is_the_figures=True)
    assert (settled.value, settled.holds) == (converged_at, holds)
    assert settled.claim == "after the first step, and by step 10"


@pytest.mark.parametrize(("first", "holds"), [(0.0, True), (1e-9, False)])
def test_fig_5_claims_no_variance_at_the_first_step(first: float, holds: bool) -> None:
    _, begins = findings_of(by_step("recurrent.cells.0.norm_h", 3, first), is_the_figures=True)
    assert (begins.value, begins.claim, begins.holds) == (first, "0", holds)


@pytest.mark.parametrize(("site", "findings"), [("norm_h", 2), ("norm_c", 1), ("norm_x", 1)])
def test_fig_5_claims_nothing_of_other_networks(site: str, findings: int) -> None:
    found = findings_of(by_step(f"recurrent.cells.0.{site}", 3), is_the_figures=False)
    assert [(finding.claim, finding.holds, finding.source) for finding in found] == [(None, None, None)] * findings


def test_fig_5_claims_nothing_of_the_input_term() -> None:
    [settled] = findings_of(by_step("recurrent.cells.0.norm_x", 3), is_the_figures=True)
    assert settled.claim is None
