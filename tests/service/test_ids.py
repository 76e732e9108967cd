"""Ids sort by creation."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Literal

import pytest

from service.ids import new_id

KINDS: list[Literal["exp", "run", "key", "wrk"]] = ["exp", "run", "key", "wrk"]


@pytest.mark.parametrize("kind", KINDS)
def test_an_id_is_its_kind_and_fits_its_column(kind: Literal["exp", "run", "key", "wrk"]) -> None:
    id = new_id(kind)
    assert id.startswith(f"{kind}_")
    assert len(id) <= 32
    assert id.isascii()


def test_ids_sort_by_creation_however_fast_they_are_made() -> None:
    made = [new_id("run") for _ in range(20_000)]
    assert made == sorted(made)
    assert len(set(made)) == len(made)


def test_ids_sort_by_creation_though_the_clock_goes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    before = [new_id("run") for _ in range(3)]
    monkeypatch.setattr(time, "time_ns", lambda: 10**18)
    made = before + [new_id("run") for _ in range(3)]
    assert made == sorted(set(made))


def test_threads_never_make_the_same_id() -> None:
    with ThreadPoolExecutor(8) as pool:
        made = [id for ids in pool.map(lambda _: [new_id("exp") for _ in range(2000)], range(8)) for id in ids]
    assert len(set(made)) == 16_000
