"""Whether seconds may be compared, against cases worked out by hand."""

from collections.abc import Mapping
from typing import Any

import pytest

from service.statistics.certificate import certificate
from tests.service.statistics.cases import is_as_expected, named


@named("certificate")
def test_certificate(case: Mapping[str, Any]) -> None:
    assert is_as_expected(certificate(**case["inputs"]), case["expected"])


def test_a_tenth_of_slow_windows_is_borne() -> None:
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
