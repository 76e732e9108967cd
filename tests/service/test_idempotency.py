"""Digests of requests that may have no digest."""

from typing import Any

import pytest

from normcore.spec import digest
from service.idempotency import digest_if_possible


def test_a_body_has_the_digest_that_is_stored() -> None:
    assert digest_if_possible({"a": 1}) == digest({"a": 1})


@pytest.mark.parametrize("body", [{1: "a", "b": "c"}, {"target": float("nan")}], ids=["mixed keys", "not finite"])
def test_a_body_that_is_not_json_has_no_digest(body: Any) -> None:
    """A form may send such YAML."""
    assert digest_if_possible(body) is None
