"""Metrics know their possible values."""

import pytest

from normcore.spec.metric import ACCURACY, BITS_PER_CHAR, Metric
from normcore.spec.tasks import BENCHMARKS

ANY = Metric("nats", "nats", "minimize")


@pytest.mark.parametrize(
    ("metric", "value", "can_be"),
    [
        (ACCURACY, 0.0, True),
        (ACCURACY, 1.0, True),
        (ACCURACY, 1.0001, False),
        (ACCURACY, -0.1, False),
        (BITS_PER_CHAR, 8.0, True),
        (BITS_PER_CHAR, -0.1, False),
        (ANY, -5.0, True),
    ],
)
def test_value_beyond_the_limits_of_the_metric_is_impossible(metric: Metric, value: float, can_be: bool) -> None:
    assert metric.can_be(value) is can_be


def test_limits_of_a_metric_are_described() -> None:
    assert (ACCURACY.bounds, BITS_PER_CHAR.bounds, ANY.bounds) == ((0, 1), (0, None), (None, None))
    assert (ACCURACY.limits, BITS_PER_CHAR.limits, ANY.limits) == ("0 to 1", "0 or more", "any number")


def test_limits_of_shares_are_0_and_1_and_of_ranks_1_or_more() -> None:
    limits = {(m.name, m.least, m.most) for task in BENCHMARKS.values() for m in task.metrics}
    assert {(n, low, high) for n, low, high in limits if n in ("error_rate", "accuracy", "image_r1", "mr")} == {
        (name, 0, 1) for name in ("error_rate", "accuracy", "image_r1", "mr")
    }
    assert ("image_mean_rank", 1, None) in limits
    assert ("sick_pearson", -1, 1) in limits
