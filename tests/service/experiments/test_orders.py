"""Orders of the list of experiments."""

from collections.abc import Sequence
from typing import get_args

import pytest
from starlette.testclient import TestClient

from service.db import Database
from service.experiments import orders, queries
from service.experiments.orders import FIRST, TITLES, Order, read_sorted, turn_round
from tests.service.sample_runs import claimed, failed, finished, submitted

SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.fixture
def names(db: Database) -> dict[str, str]:
    """Short names of four experiments, by id. They are stored in the order of these names."""
    stored = {}
    for name, method, seeds, value in (("a", "rms_norm", (0,), 0.5), ("b", "layer_norm", (0, 1), 0.7)):
        stored[submitted(db, method, seeds).id] = name
        for _ in seeds:
            finished(db, claimed(db).lease, value=value)
    stored[submitted(db, "none").id] = "c"
    failed(db, claimed(db).lease)
    stored[submitted(db, "weight_norm", (0, 1, 2)).id] = "d"
    return stored


@SQLITE
@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("submitted", "abcd"),
        ("-submitted", "dcba"),
        ("method", "bcad"),
        ("-method", "dacb"),
        ("task", "dcba"),
        ("state", "dcba"),
        ("-state", "bacd"),
        ("seeds", "cabd"),
        ("-seeds", "dbca"),
        ("value", "badc"),
        ("-value", "abdc"),
    ],
)
def test_experiments_are_sorted_by_every_column(
    db: Database, names: dict[str, str], order: Order, expected: str
) -> None:
    with db.snapshot() as session:
        found = read_sorted(session, queries.matching(), order, page=1, size=50)
    assert "".join(names[one.id] for one in found.shown) == expected
    assert (found.sorted, found.all) == (4, True)


@SQLITE
def test_a_smaller_loss_is_the_better_value(db: Database) -> None:
    ids = []
    for value in (2.0, 1.5, 3.0):
        ids.append(submitted(db, "none", task={"name": "char_lm", "profile": "small"}).id)
        finished(db, claimed(db).lease, metric="bits_per_char", value=value)
    with db.snapshot() as session:
        found = read_sorted(session, queries.matching(), "value", page=1, size=50)
    assert [one.id for one in found.shown] == [ids[1], ids[0], ids[2]]


@SQLITE
def test_pages_of_an_order_follow_each_other_and_the_newest_are_sorted(
    db: Database, names: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(number: int) -> tuple[Sequence[str], int, bool]:
        with db.snapshot() as session:
            found = read_sorted(session, queries.matching(), "method", page=number, size=2)
        return [names[one.id] for one in found.shown], found.sorted, found.all

    assert [read(1), read(2)] == [(["b", "c"], 4, True), (["a", "d"], 4, True)]
    monkeypatch.setattr(orders, "MOST", 3)  # as if there were a thousand
    assert [read(1), read(2)] == [(["b", "c"], 3, False), (["d"], 3, False)]


def test_every_order_has_a_title_and_its_reverse() -> None:
    assert set(TITLES) == set(get_args(Order))
    assert {turn_round(order) for order in TITLES} == set(TITLES)
    assert set(FIRST.values()) < set(TITLES)


@SQLITE
def test_text_is_found_in_labels_methods_tasks_and_ids(client: TestClient, db: Database) -> None:
    first = submitted(db, "layer_norm", labels={"who": "Mira 100%"}).id
    second = submitted(db, "rms_norm", labels={"who": "jonas"}).id

    def found(text: str) -> list[str]:
        items = client.get("/v1/experiments", params={"q": text}).json()["items"]
        return [item["id"] for item in items]

    assert found("mira") == found("LAYER") == found(first) == found("0%") == [first]
    assert found("permuted") == found("who") == found("") == [second, first]
    assert found("n_rm") == found("%_") == []
    assert client.get("/v1/experiments", params={"q": "x" * 201}).status_code == 422
