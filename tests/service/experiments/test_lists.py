"""Lists of experiments over HTTP: filters, pages, counts."""

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from sqlalchemy import event
from starlette.testclient import TestClient

from service.db import Database
from service.experiments import queries
from service.experiments.tables import Run
from tests.service.http_calls import ids, is_problem, post
from tests.service.sample_runs import claimed, failed, finished, submitted, submitted_analysis

SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def test_a_list_can_be_narrowed_by_every_filter_and_by_several_at_once(client: TestClient) -> None:
    none = post(client, "none", labels={"team": "vision", "day": "1"}).json()
    norm = post(client, "layer_norm", labels={"team": "vision"}).json()
    text = client.post("/v1/experiments", json={"task": {"name": "char_lm", "profile": "small"}}).json()
    n, ln, lm = (e["id"] for e in (none, norm, text))
    assert ids(client) == [lm, ln, n]
    assert ids(client, task="permuted_digits") == [ln, n]
    assert ids(client, profile="small") == [lm]
    assert ids(client, method="none") == [lm, n]
    assert ids(client, fingerprint=norm["fingerprint"]) == [ln]
    assert ids(client, label="team:vision") == [ln, n]
    assert ids(client, label=["team:vision", "day:1"]) == [n]
    assert ids(client, label="team:vis") == []
    assert ids(client, task="permuted_digits", method="layer_norm", label="team:vision", state="queued") == [ln]
    assert ids(client, fingerprint=norm["fingerprint"][:8]) == [ln]
    assert ids(client, fingerprint="0123abcd") == []


@SQLITE
@pytest.mark.parametrize(
    ("name", "given", "meant"),
    [
        ("task", "permuted_digist", "'permuted_digits'"),
        ("method", "layer_nrom", "'layer_norm'"),
        ("profile", "smal", "did you mean 'small'?"),
        ("state", "suceeded", "did you mean 'succeeded'?"),
        ("fingerprint", "0123abc", "give the first 8 or more characters of a fingerprint"),
        ("label", "team", "give key:value, such as team:vision"),
        ("cursor", "exp_1", "give `next_cursor` of the page before"),
    ],
)
def test_a_filter_that_nothing_can_match_is_refused_by_name(
    client: TestClient, name: str, given: str, meant: str
) -> None:
    answer = client.get("/v1/experiments", params={name: given})
    assert is_problem(answer, 422)
    [error] = answer.json()["errors"]
    assert error["loc"][0] == name
    assert meant in error["msg"]


def test_a_label_may_hold_a_colon(client: TestClient) -> None:
    made = post(client, labels={"when": "10:30"}).json()
    assert ids(client, label="when:10:30") == [made["id"]]


def pages(client: TestClient, limit: int, between: Callable[[], object] = lambda: None) -> list[str]:
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = client.get("/v1/experiments", params={"limit": limit, **({"cursor": cursor} if cursor else {})}).json()
        assert 0 < len(page["items"]) <= limit
        seen += [item["id"] for item in page["items"]]
        assert len(set(seen)) == len(seen), "nothing comes twice"
        cursor = page["next_cursor"]
        if cursor is None:
            return seen
        between()


def test_any_limit_pages_through_everything_once_newest_first(client: TestClient, db: Database) -> None:
    made = [submitted(db).id for _ in range(13)][::-1]

    @hypothesis_settings(deadline=None, max_examples=15)
    @given(limit=st.integers(1, 200))
    def check(limit: int) -> None:
        assert pages(client, limit) == made

    check()


@pytest.mark.parametrize("limit", [1, 3, 12])
def test_experiments_that_arrive_meanwhile_do_not_disturb_the_pages(
    client: TestClient, db: Database, limit: int
) -> None:
    made = [submitted(db).id for _ in range(13)][::-1]
    assert pages(client, limit, between=lambda: submitted(db)) == made


def test_an_empty_list_has_one_empty_page(client: TestClient) -> None:
    assert client.get("/v1/experiments").json() == {"items": [], "next_cursor": None}


def test_a_list_shows_fifty_experiments_by_default(client: TestClient, db: Database) -> None:
    for _ in range(51):
        submitted(db)
    page = client.get("/v1/experiments").json()
    assert len(page["items"]) == 50
    assert page["next_cursor"]


def test_the_state_filter_agrees_with_the_state_that_is_shown(client: TestClient, db: Database) -> None:
    @hypothesis_settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.too_slow])
    @given(
        runs=st.lists(
            st.sampled_from(["new", "queued", "running", "succeeded", "failed", "cancelled", "never began"]),
            min_size=1,
            max_size=4,
        )
    )
    def check(runs: list[str]) -> None:
        experiment = submitted(db, seeds=range(len(runs)))
        with db.transaction() as session:
            for run, kind in zip(experiment.runs, runs, strict=True):
                row = session.get_one(Run, run.id)
                row.state = {"new": "queued", "never began": "cancelled"}.get(kind, kind)
                row.started_at = None if kind in ("new", "never began") else experiment.created_at
        shown = client.get(f"/v1/experiments/{experiment.id}").json()["state"]
        waiting = {"new", "queued", "running"} & set(runs)
        if waiting:
            expected = "queued" if set(runs) <= {"new", "never began"} else "running"
        elif "failed" in runs:
            expected = "failed"
        else:
            expected = "cancelled" if {"cancelled", "never began"} & set(runs) else "succeeded"
        assert shown == expected
        for state in ("queued", "running", "succeeded", "failed", "cancelled"):
            page = client.get("/v1/experiments", params={"state": state, "limit": 1}).json()["items"]
            found = bool(page) and page[0]["id"] == experiment.id
            assert found == (state == expected)
            assert all(item["state"] == state for item in page)

    check()


def test_a_list_counts_the_runs_by_state(client: TestClient, db: Database) -> None:
    submitted(db, seeds=[0, 1, 2])
    failed(db, claimed(db).lease)
    (item,) = client.get("/v1/experiments").json()["items"]
    assert item["runs_by_state"] == {"failed": 1, "queued": 2}
    assert item["state"] == "running"


def test_a_list_counts_the_runs_that_diverged(client: TestClient, db: Database) -> None:
    submitted(db, seeds=[0, 1, 2])
    for _ in range(2):
        finished(db, claimed(db).lease, "diverged", value=None)
    finished(db, claimed(db).lease)
    submitted(db, "none")
    items = client.get("/v1/experiments").json()["items"]
    assert [(item["runs_by_state"], item["n_diverged"]) for item in items] == [
        ({"queued": 1}, 0),
        ({"succeeded": 3}, 2),
    ]


def test_a_list_takes_the_same_statements_for_one_experiment_and_for_many(client: TestClient, db: Database) -> None:
    statements: list[str] = []
    event.listen(db.engine, "before_cursor_execute", lambda _, __, statement, *___: statements.append(statement))
    counts = []
    for experiments in (1, 5):
        while len(ids(client)) < experiments:
            submitted(db)
        statements.clear()
        with db.snapshot() as session:
            assert len(queries.experiments(session, limit=50)) == experiments
        counts.append(sum(statement.startswith("SELECT") for statement in statements))
    assert counts == [2, 2]


def test_analyses_of_different_cells_have_different_names(client: TestClient, db: Database) -> None:
    for cell in ("gru", "lstm"):
        spec = {"task": {"name": "gradient_flow"}, "norm": {"method": "rms_norm"}, "model": {"cell": cell}}
        submitted_analysis(db, spec)
    submitted_analysis(db, {"task": {"name": "invariances"}, "norm": {"method": "rms_norm"}})
    submitted(db, "rms_norm", model={"cell": "gru"})
    items = client.get("/v1/experiments").json()["items"]
    names = ["rms_norm (cell gru)", "rms_norm", "rms_norm (cell lstm)", "rms_norm (cell gru)"]
    assert [item["name"] for item in items] == names
    assert client.get(f"/v1/experiments/{items[-1]['id']}").json()["name"] == "rms_norm (cell gru)"
