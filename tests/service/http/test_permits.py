"""A permit is looked up seldom, and ends for good."""

import asyncio
import time

import pytest

from service.http import permits
from service.http.permits import Permit


def test_a_permit_is_not_looked_up_for_every_event(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = list[float]()

    def is_valid() -> bool:
        looks.append(time.monotonic())
        return True

    async def ask() -> None:
        permit = Permit(is_valid)
        while time.monotonic() - began < 1:
            assert await permit.holds()
            await asyncio.sleep(0)

    monkeypatch.setattr(permits, "CHECK_SECONDS", 0.2)
    began = time.monotonic()
    asyncio.run(ask())
    assert 1 <= len(looks) <= 5
    assert all(later - earlier >= 0.2 for earlier, later in zip([began, *looks], looks, strict=False))


def test_a_permit_that_has_ended_never_holds_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(permits, "CHECK_SECONDS", 0)
    answers = iter([True, False, True])
    permit = Permit(lambda: next(answers))
    assert [asyncio.run(permit.holds()) for _ in range(4)] == [True, False, False, False]


def test_a_permit_holds_where_no_key_is_asked_for() -> None:
    assert asyncio.run(Permit().holds())
