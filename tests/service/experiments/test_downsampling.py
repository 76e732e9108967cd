"""Fewer points, the same picture."""

from hypothesis import given
from hypothesis import strategies as st

from service.experiments.downsampling import downsample

values = st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=300)


def curve(values: list[float]) -> list[tuple[int, float, float]]:
    return [(10 * k, value, k / 4) for k, value in enumerate(values)]


@given(values, st.integers(4, 60))
def test_first_last_and_extremes_are_kept_in_order_within_the_limit(values: list[float], max_points: int) -> None:
    points = curve(values)
    kept = downsample(points, max_points)
    assert len(kept) <= max(max_points, 0)
    assert set(kept) <= set(points)
    assert kept == sorted(kept)
    assert len(set(kept)) == len(kept)
    assert (kept[0], kept[-1]) == (points[0], points[-1])
    assert min(value for _, value, _ in kept) == min(values)
    assert max(value for _, value, _ in kept) == max(values)


@given(values)
def test_a_curve_within_the_limit_stays_whole(values: list[float]) -> None:
    points = curve(values)
    assert downsample(points, max(4, len(points))) == points


def test_a_long_curve_uses_the_points_it_may_use() -> None:
    kept = downsample(curve([(-1.0) ** k * k for k in range(10_000)]), 500)
    assert len(kept) == 500
