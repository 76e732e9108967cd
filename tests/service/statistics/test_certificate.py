"""Certificates of time, against cases worked out by hand."""

from collections.abc import Mapping
from typing import Any

import pytest

from service.statistics.certificate import certificate
from tests.service.statistics.cases import is_as_expected, named


@named("certificate")
def test_certificates_are_as_worked_out_by_hand(case: Mapping[str, Any]) -> None:
    assert is_as_expected(certificate(**case["inputs"]), case["expected"])


def test_a_tenth_of_slow_windows_is_tolerated() -> None:
    kernel = [0.02]
    quick, slow = [0.28] * 9, [0.28 * 1.3]
    assert not certificate(kernel, kernel, [], [9.0, *quick, *slow]).contended
    assert certificate(kernel, kernel, [], [9.0, *quick[:8], *slow]).contended


def test_a_kernel_that_took_no_time_or_was_not_timed_is_refused() -> None:
    with pytest.raises(ValueError, match="took no time"):
        certificate([0.0], [0.0], [], [])
    with pytest.raises(ValueError, match="took no time"):
        certificate([0.02], [0.02], [0.0] * 5, [])
    with pytest.raises(ValueError, match="not timed"):
        certificate([0.02], [], [], [])


def test_a_negative_time_is_refused() -> None:
    with pytest.raises(ValueError, match="negative"):
        certificate([0.02], [-0.02], [], [])


@pytest.mark.parametrize(("before", "after"), [(0.02, 0.03), (0.03, 0.02)])
def test_the_slower_of_both_probes_is_compared_with_the_faster(before: float, after: float) -> None:
    found = certificate([before], [after], [], [])
    assert found.quiet == 0.02
    assert found.kernel_ratio == pytest.approx(1.5)
    assert found.contended


def test_a_kernel_that_takes_a_tenth_longer_is_tolerated() -> None:
    assert certificate([1.0], [1.1], [], []).kernel_ratio == 1.1
    assert not certificate([1.0], [1.1], [], []).contended
    assert certificate([1.0], [1.1001], [], []).contended


def test_windows_are_slow_beyond_five_quarters_of_their_median() -> None:
    """Hand computation: the median of twelve windows is 1. Those of 1.3 and 100 are slow; one of 1.25 is not."""
    assert certificate([1.0], [1.0], [], [9.0, *[1.0] * 10, 1.3, 100.0]).slow_share == pytest.approx(2 / 12)
    assert certificate([1.0], [1.0], [], [9.0, *[1.0] * 4, 1.25]).slow_share == 0
    assert certificate([1.0], [1.0], [], [9.0, *[1.0] * 3, 9.0]).slow_share is None, "of four windows nobody can tell"


@pytest.mark.parametrize("wrong", [-0.02, float("nan")])
def test_negative_and_nan_medians_and_windows_are_refused(wrong: float) -> None:
    with pytest.raises(ValueError, match="negative or not a number"):
        certificate([0.02], [0.02], [wrong], [])
    with pytest.raises(ValueError, match="negative or not a number"):
        certificate([0.02], [0.02], [], [wrong])
