"""An entry pools the runs of one code: that of the run that started last."""

import re
from typing import Any

import pytest
from starlette.testclient import TestClient

from service.db import Database
from service.experiments.tables import Experiment, Run
from service.leaderboards import entries, queries
from service.leaderboards.tables import Entry
from tests.service.leaderboards.boards import board
from tests.service.sample_runs import begun, claimed, finished, submitted

BOARD = "/v1/leaderboards/permuted_digits"


def code(norm: str) -> dict[str, Any]:
    return {"version": "0.1.0", "commit": None, "dirty": None, "parts": {"norm": norm, "task": "t"}}


def trained(db: Database, seed: int, value: float, norm: str | None) -> str:
    """Store an ended run with a method whose code has this digest; return the id of its experiment."""
    experiment = submitted(db, "layer_norm", seeds=[seed])
    lease = claimed(db).lease
    begun(db, lease, code=None if norm is None else code(norm))
    finished(db, lease, value=value)
    return experiment.id


def entry_of(db: Database) -> Entry:
    with db.snapshot() as session:
        return session.query(Entry).one()


def values_of(db: Database) -> list[tuple[int, float]]:
    return [(result["seed"], result["value"]) for result in entry_of(db).results]


def test_runs_of_older_code_are_set_aside_and_counted(client: TestClient, db: Database) -> None:
    first = trained(db, 0, 0.2, "a")
    trained(db, 1, 0.3, "a")
    second = trained(db, 0, 0.9, "b")
    assert values_of(db) == [(0, 0.9)]
    [shown] = board(client)["entries"]
    assert (shown["n_runs"], shown["n_older"], shown["n_seeds"], shown["experiments"]) == (1, 2, 1, [second])
    assert shown["value"]["mean"] == 0.9
    assert shown["conflicting_seeds"] == []
    assert client.get(f"/v1/experiments/{first}").json()["runs"][0]["of_older_code"] is True
    assert client.get(f"/v1/experiments/{second}").json()["runs"][0]["of_older_code"] is False


def test_older_code_is_shown_on_request_and_has_no_rank(client: TestClient, db: Database) -> None:
    older = [trained(db, 0, 0.95, "a"), trained(db, 1, 0.9, "b")]
    present = trained(db, 0, 0.5, "c")
    shown = client.get(BOARD, params={"profile": "smoke", "code": "all"}).json()["entries"]
    assert [(e["experiments"], e["of_older_code"], e["rank"], e["score"]) for e in shown] == [
        ([present], False, 1, 0.5),
        ([older[0]], True, None, 0.95),
        ([older[1]], True, None, 0.9),
    ]
    assert len({entry["fingerprint"] for entry in shown}) == 1
    assert len({entry["code"] for entry in shown}) == 3


def test_code_that_comes_back_brings_its_runs_back(db: Database) -> None:
    trained(db, 0, 0.2, "a")
    trained(db, 0, 0.9, "b")
    trained(db, 1, 0.3, "a")
    assert values_of(db) == [(0, 0.2), (1, 0.3)]
    assert (entry_of(db).n_runs, entry_of(db).n_older) == (2, 1)


def test_runs_without_digests_of_their_code_are_pooled_until_a_run_has_one(client: TestClient, db: Database) -> None:
    for seed in (0, 1, 2):
        trained(db, seed, 0.3, None)
    assert (entry_of(db).n_runs, entry_of(db).n_older, entry_of(db).code) == (3, 0, None)
    trained(db, 5, 0.9, "a")
    assert values_of(db) == [(5, 0.9)]
    assert entry_of(db).n_older == 3


def test_a_run_of_older_code_that_ends_last_is_set_aside(db: Database) -> None:
    """A run has the code of its start, so a long run of older code may end after a short run of newer code."""
    submitted(db, "layer_norm", seeds=[0])
    old = claimed(db).lease
    begun(db, old, code=code("a"))
    trained(db, 1, 0.9, "b")
    finished(db, old, value=0.2)
    assert values_of(db) == [(1, 0.9)]
    assert (entry_of(db).n_runs, entry_of(db).n_older) == (1, 1)


def test_a_run_that_began_anew_counts_from_its_new_beginning(
    db: Database,
) -> None:
    submitted(db, "layer_norm", seeds=[0])
    first = claimed(db).lease
    begun(db, first, code=code("a"))
    trained(db, 1, 0.2, "a")
    begun(db, first, code=code("b"))  # interrupted; then the code was edited, and the run begins at the first step
    finished(db, first, value=0.9)
    assert values_of(db) == [(0, 0.9)]


def test_a_run_that_resumes_keeps_the_time_of_its_code(db: Database) -> None:
    submitted(db, "layer_norm", seeds=[0])
    old = claimed(db).lease
    begun(db, old, code=code("a"))
    trained(db, 1, 0.9, "b")
    begun(db, old, step=10, resumed_from=10, code=code("a"))
    finished(db, old, value=0.2)
    assert values_of(db) == [(1, 0.9)]


def test_all_code_cannot_be_asked_of_a_board_of_an_earlier_time(client: TestClient) -> None:
    answer = client.get(BOARD, params={"code": "all", "as_of": "2026-01-01T00:00:00Z"})
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["loc"] == ["code"]


@pytest.mark.parametrize("codes", ["aab", "aba", "abb", "abab", [None, "a", "a"], ["a", None, "b"]])
def test_pooling_anew_gives_the_same_entry_as_adding_runs(db: Database, codes: list[str | None]) -> None:
    for seed, norm in enumerate(codes):
        trained(db, seed, 0.1 * seed, norm)

    def content() -> dict[str, Any]:
        entry = entry_of(db)
        return {column.name: getattr(entry, column.name) for column in Entry.__table__.columns}

    added = content()
    with db.transaction() as session:
        entries.refresh(session, added["fingerprint"])
    assert content() == added


def test_a_board_has_another_version_after_each_run(db: Database) -> None:
    seen = set()
    for seed, norm in enumerate(["a", "b", "a", "c", "a"]):
        trained(db, seed, 0.5, norm)
        with db.snapshot() as session:
            seen.add(queries.version(session, "permuted_digits", "smoke"))
    assert len(seen) == 5


def test_a_board_of_an_earlier_time_pools_the_code_of_that_time(client: TestClient, db: Database) -> None:
    trained(db, 0, 0.2, "a")
    with db.snapshot() as session:
        moment = session.query(Run).one().finished_at
    trained(db, 0, 0.9, "b")
    assert moment is not None
    then = client.get(BOARD, params={"profile": "smoke", "as_of": moment.isoformat()}).json()["entries"]
    assert [entry["score"] for entry in then] == [0.2]


def test_the_page_of_a_board_counts_and_shows_older_code(client: TestClient, db: Database) -> None:
    trained(db, 0, 0.2, "a")
    trained(db, 0, 0.9, "b")
    page = client.get("/boards/permuted_digits?profile=smoke").text
    assert "1 more of older code" in page
    assert "Of older code" not in page
    every = client.get("/boards/permuted_digits?profile=smoke&entries=all&code=all").text
    assert "<strong>Of older code</strong>" in every


def test_rows_of_older_code_of_one_fingerprint_show_the_digests_of_their_code(client: TestClient, db: Database) -> None:
    for norm in ("a", "b", "c"):
        trained(db, 0, 0.2, norm)
    rows = client.get(BOARD, params={"profile": "smoke", "code": "all"}).json()["entries"]
    older = [entry["code"][:8] for entry in rows if entry["of_older_code"]]
    assert len(set(older)) == 2
    assert len({entry["fingerprint"] for entry in rows}) == 1
    page = client.get("/boards/permuted_digits?profile=smoke&entries=all&code=all").text
    assert sorted(re.findall(r'<span class="chip">code ([0-9a-f]{8})</span>', page)) == sorted(older)


def test_a_worker_that_cannot_read_the_spec_loses_no_run(db: Database) -> None:
    """A worker that started before the options were edited cannot read the spec, while the API can."""
    trained(db, 0, 0.2, "a")
    experiment = submitted(db, "layer_norm", seeds=[1])
    lease = claimed(db).lease
    begun(db, lease, code=code("a"))

    def write(norm: dict[str, Any]) -> None:
        with db.transaction() as session:
            stored = session.get_one(Experiment, experiment.id)
            stored.spec = {**stored.spec, "norm": norm}

    write({**experiment.spec["norm"], "new_option": 1})
    finished(db, lease, value=0.3)
    with db.snapshot() as session:
        assert session.get_one(Run, lease.run_id).state == "succeeded"
        assert session.query(Entry).count() == 0
    write(experiment.spec["norm"])
    trained(db, 2, 0.4, "a")
    assert values_of(db) == [(0, 0.2), (1, 0.3), (2, 0.4)]
