"""Migration 0004 carries over experiments stored before specs had versions and boards had problems and budgets."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.config import Config
from sqlalchemy.dialects import postgresql
from starlette.testclient import TestClient

from normcore.problem import own_budget, own_problem, problem_of
from normcore.spec import TrainingSpec, digest, parse, resolve
from normcore.spec.methods import METHODS
from service.app import create_app
from service.db import Database
from service.experiments import submission
from service.experiments.tables import Experiment, Run
from service.leaderboards.entries import refresh_missing
from service.leaderboards.entry import read_pooled
from service.leaderboards.tables import Entry
from service.processes.migrate import migrate
from service.settings import Settings
from tests.service.sample_runs import claimed, finished

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
NOW = datetime(2026, 1, 1, tzinfo=UTC)
EXPERIMENTS = sa.table(
    "experiments",
    *(sa.column(name) for name in ("id", "fingerprint", "setting", "task", "profile", "method", "request_digest")),
    sa.column("spec", JSON),
    sa.column("created_at", sa.DateTime(timezone=True)),
)
RUNS = sa.table(
    "runs",
    *(sa.column(name) for name in ("id", "experiment_id", "seed", "queue", "priority", "max_steps", "state")),
    *(sa.column(name) for name in ("attempt", "times_lost", "cancel_requested", "step", "seconds", "outcome", "value")),
    sa.column("history", JSON),
    sa.column("result", JSON),
    sa.column("created_at", sa.DateTime(timezone=True)),
)
FREE = {"device": "auto", "priority": 5, "labels": {"team": "vision"}}
LSTM = {
    "cell": "lstm",
    "hidden_size": 16,
    "num_layers": 1,
    "bidirectional": False,
    "recurrent_init": "orthogonal",
    "forget_bias": 1.0,
    "identity_gates": ["g"],
}
LAYER_NORM = {
    "method": "layer_norm",
    "sites": ["input", "recurrent", "cell"],
    "gain_init": 1.0,
    "eps": 1e-05,
    "affine": True,
    "scope": "joint",
    "conv_gain": "per_unit",
    "bias": "outside",
    "bias_init": 0.0,
}
BATCH_NORM = {
    "method": "recurrent_batch_norm",
    "sites": ["input", "recurrent", "cell"],
    "gain_init": 0.1,
    "eps": 1e-05,
    "carry": "raw",
    "statistics": "per_step",
    "population": "pass",
    "momentum": 0.1,
    "initial_state_noise": 0.0,
}
TRAINING = {"clip_norm": 1.0, "precision": "float32", "kernel": "auto"}
DIGITS = {
    "kind": "training",
    "task": {"name": "permuted_digits", "profile": "smoke", "permutation_seed": 0, "legacy_index_map": False},
    "model": LSTM,
    "norm": LAYER_NORM,
    "seeds": [0, 1, 2],
    **FREE,
    "training": {
        "optimizer": {"name": "rmsprop", "lr": 0.002, "decay": 0.9, "momentum": 0.0},
        "batch_size": 32,
        "max_steps": 40,
        "eval_every": 10,
        "target": 0.2,
        **TRAINING,
    },
}
TEXT = {
    "kind": "training",
    "task": {
        "name": "char_lm",
        "profile": "smoke",
        "corpus": "pydoc",
        "file": None,
        "sha256": None,
        "sequence_length": 20,
        "eval_chars": 1500,
    },
    "model": LSTM,
    "norm": BATCH_NORM,
    "seeds": [0],
    **FREE,
    "training": {
        "optimizer": {"lr": 0.002, "beta1": 0.9, "beta2": 0.999, "eps": 1e-08, "name": "adam"},
        "batch_size": 16,
        "max_steps": 20,
        "eval_every": 5,
        "target": 4.5,
        **TRAINING,
    },
}
INVARIANCES = {
    "kind": "analysis",
    "task": {"name": "invariances", "profile": "small"},
    "model": None,
    "norm": BATCH_NORM,
    "seeds": [0],
    **FREE,
}
OF_A_PLUG_IN = {**DIGITS, "norm": {"method": "norm_of_a_package_that_is_gone", "strength": 2}}
LATER = {**DIGITS, "spec_version": 1000}
STORED: dict[str, Any] = {
    "digits": DIGITS,
    "text": TEXT,
    "invariances": INVARIANCES,
    "plug_in": OF_A_PLUG_IN,
    "later": LATER,
    "nothing": {},
}
WRITTEN: dict[str, Any] = {  # written specs that give the same specs today
    "digits": {
        "task": {"name": "permuted_digits", "profile": "smoke"},
        "model": {"hidden_size": 16},  # as in the old profile
        "norm": {"method": "layer_norm"},
        "seeds": [0, 1, 2],
    },
    "text": {
        "task": {"name": "char_lm", "profile": "smoke", "valid_chars": 1500, "test_chars": 1500},
        "norm": {"method": "recurrent_batch_norm"},
    },
    "invariances": {"task": {"name": "invariances"}, "norm": {"method": "recurrent_batch_norm"}},
}
UNREADABLE = STORED.keys() - WRITTEN.keys()
FINDINGS = {"findings": [{"name": "weight", "value": 0.0, "meaning": "deviation"}], "seconds": 1.5}
NAMES = list(STORED)


def id_of(kind: str, name: str, k: int = 0) -> str:
    return f"{kind}_{NAMES.index(name):013d}{k:013d}"


def result(value: float | None, metric: str = "accuracy") -> dict[str, Any]:
    times = {"steps_to_target": None, "seconds_to_target": None, "train_seconds": 4.0}
    return {"metric": metric, "value": value, "valid_value": value, "step": 30, **times}


@pytest.fixture
def old(database_url: str) -> Iterator[Database]:
    """Database of the last release: three runs on digits, one of which diverged, and one run of each other spec."""
    db = Database(database_url)
    migrate(db, "0003")
    with db.engine.begin() as connection:
        for name, spec in STORED.items():
            known: Any = spec or DIGITS
            row = {
                "id": id_of("exp", name),
                "fingerprint": digest(["old", name]),
                "setting": digest(["old setting", name]),
                "task": known["task"]["name"],
                "profile": known["task"]["profile"],
                "method": known["norm"]["method"],
                "request_digest": "d",
                "spec": spec,
                "created_at": NOW,
            }
            connection.execute(sa.insert(EXPERIMENTS).values(row))
            for seed in known["seeds"]:
                connection.execute(sa.insert(RUNS).values(_run(name, seed)))
        connection.exec_driver_sql(
            "INSERT INTO entries (fingerprint, setting, task, profile, method, changes, experiments, n_runs, n_seeds,"
            " n_diverged, steps_reached, seconds_reached) VALUES"
            " ('stale', 's', 'permuted_digits', 'smoke', 'layer_norm', '{}', '[]', 9, 9, 0, 0, 0)"
        )
    yield db
    db.close()


def _run(name: str, seed: int) -> dict[str, Any]:
    metric = "bits_per_char" if name == "text" else "accuracy"
    values = {"digits": (0.8, 0.9, None)[seed], "text": 3.5}
    ended = FINDINGS if name == "invariances" else result(values.get(name, 0.5), metric)
    return {
        "id": id_of("run", name, seed),
        "experiment_id": id_of("exp", name),
        "seed": seed,
        "queue": "cpu",
        "priority": 5,
        "max_steps": 40,
        "state": "succeeded",
        "attempt": 1,
        "times_lost": 0,
        "cancel_requested": False,
        "step": 40,
        "seconds": 4.0,
        "outcome": "diverged" if ended.get("value", 0) is None else "completed",
        "value": ended.get("value"),
        "history": [],
        "result": ended,
        "created_at": NOW,
    }


def experiment(db: Database, name: str) -> Experiment:
    with db.snapshot() as session:
        return session.get_one(Experiment, id_of("exp", name))


def entries(db: Database) -> dict[str, Entry]:
    with db.snapshot() as session:
        return {entry.fingerprint: entry for entry in session.scalars(sa.select(Entry))}


@pytest.mark.parametrize("name", WRITTEN)
def test_stored_spec_equals_the_spec_written_today(old: Database, name: str) -> None:
    migrate(old)
    stored, today = experiment(old, name), resolve(WRITTEN[name])
    assert stored.fingerprint == today.fingerprint()
    assert stored.setting == today.fingerprint(without=("norm",))
    assert parse(stored.spec) == today.model_copy(update={"labels": FREE["labels"]})
    assert stored.spec == parse(stored.spec).model_dump(mode="json"), "it is stored as of this version"
    if isinstance(today, TrainingSpec):
        assert (stored.problem, stored.budget) == (problem_of(today.task).id, today.budget)
    else:
        assert (stored.problem, stored.budget) == (None, None)


def test_entries_are_pooled_again_from_the_runs(old: Database) -> None:
    migrate(old)
    found = entries(old)
    digits, text = (found.pop(resolve(WRITTEN[name]).fingerprint()) for name in ("digits", "text"))
    assert found == {}, "neither the stale one nor one of a spec that cannot be read"
    pooled = read_pooled(digits.pooled)
    assert pooled.value is not None
    assert (digits.n_runs, pooled.n_seeds, pooled.n_diverged) == (3, 3, 1)
    assert pooled.value.mean == pytest.approx(0.85)
    assert (digits.problem, digits.budget) == (
        own_problem("permuted_digits", "smoke").id,
        own_budget("permuted_digits", "smoke"),
    )
    assert pooled.values["accuracy"] == pooled.value
    assert pooled.score is None, "what guessing gets was not kept of the one that diverged"
    assert [(r["seed"], r["value"], r["values"], r["no_skill"]) for r in digits.results] == [
        (0, 0.8, {"accuracy": 0.8}, None),
        (1, 0.9, {"accuracy": 0.9}, None),
        (2, None, {}, None),
    ]
    assert read_pooled(text.pooled).score == 3.5
    assert text.changes == {"task.valid_chars": 1500, "task.test_chars": 1500}


def test_findings_of_an_analysis_are_unchanged(old: Database) -> None:
    migrate(old)
    with old.snapshot() as session:
        assert session.get_one(Run, id_of("run", "invariances")).result == FINDINGS


@pytest.mark.parametrize("name", sorted(UNREADABLE))
def test_unreadable_spec_is_unchanged(old: Database, name: str) -> None:
    migrate(old)
    stored = experiment(old, name)
    assert stored.spec == STORED[name]
    assert stored.fingerprint == digest(["old", name])
    assert (stored.problem, stored.budget) == (None, None)


@pytest.fixture
def client(old: Database, tmp_path: Path) -> Iterator[TestClient]:
    """Client of the application on the migrated database."""
    migrate(old)
    data = tmp_path / "data"
    settings = Settings(
        data_dir=data,
        datasets_dir=data / "datasets",
        database_url=old.url,
        broker_url="filesystem://localhost",
        artifacts_url=str(data / "artifacts"),
        allowed_hosts="testserver",
    )
    with TestClient(create_app(settings, require_keys=False)) as client:
        yield client


def test_all_pages_work_with_an_unreadable_spec(client: TestClient) -> None:
    pages = ["/v1/experiments", "/v1/leaderboards", "/v1/queue", "/v1/workers", "/metrics"]
    pages += [f"/v1/leaderboards/{task}?profile=smoke" for task in ("permuted_digits", "char_lm")]
    pages += [f"/v1/methods/{name}/report-card" for name in METHODS]
    for name in NAMES:
        run = f"/v1/runs/{id_of('run', name)}"
        pages += [f"/v1/experiments/{id_of('exp', name)}", run, f"{run}/measurements", f"{run}/figures/curves"]
    for path in pages:
        answer = client.get(path)
        assert answer.status_code == 200, f"{path}: {answer.text}"
    assert len(client.get("/v1/experiments").json()["items"]) == len(STORED)
    of_one = client.get("/v1/leaderboards/permuted_digits", params={"profile": "smoke"}).json()["entries"]
    assert [(entry["rank"], entry["n_runs"]) for entry in of_one] == [(1, 3)]
    card = client.get("/v1/methods/recurrent_batch_norm/report-card").json()
    assert card["invariances"]["run_id"] == id_of("run", "invariances")
    plan = client.post("/v1/experiments", params={"dry_run": True}, json=WRITTEN["digits"])
    assert plan.json()["measured_seeds"] == [0, 1, 2]
    assert client.post("/v1/experiments", json={**WRITTEN["digits"], "device": "cpu"}).status_code == 201


@pytest.mark.parametrize("name", sorted(UNREADABLE))
def test_a_run_whose_spec_cannot_be_read_is_not_analysed(client: TestClient, name: str) -> None:
    body = {"task": {"name": "population_statistics", "run": id_of("run", name)}}
    answer = client.post("/v1/experiments", json=body)
    assert answer.status_code == 422, answer.text
    [error] = answer.json()["errors"]
    assert error["loc"] == ["task", "run"]
    assert "cannot be read" in error["msg"]


def test_the_same_spec_submitted_again_joins_the_entry(old: Database) -> None:
    migrate(old)
    written = {**WRITTEN["digits"], "seeds": [7]}
    with old.transaction() as session:
        again, _ = submission.submit(session, resolve(written), memory_bytes=None, request_digest=digest(written))
        assert again.runs
    finished(old, claimed(old).lease, value=0.7)
    entry = entries(old)[again.fingerprint]
    assert entry.n_runs == 4
    pooled = read_pooled(entry.pooled)
    assert pooled.value is not None
    assert pooled.value.mean == pytest.approx(0.8)
    assert entry.experiments == [again.id, id_of("exp", "digits")]


def test_migration_can_be_reverted_and_repeated(old: Database) -> None:
    def columns() -> dict[str, Any]:
        inspector = sa.inspect(old.engine)
        return {
            table: {column["name"]: str(column["type"]) for column in inspector.get_columns(table)}
            for table in ("entries", "experiments")
        }

    def stored() -> list[int]:
        with old.engine.connect() as connection:
            return [
                connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()
                for table in (EXPERIMENTS, RUNS)
            ]

    before, rows = columns(), stored()
    migrate(old)
    first = {fingerprint: entry.results for fingerprint, entry in entries(old).items()}
    assert columns() != before
    with old.engine.begin() as connection:
        config = Config()
        config.set_main_option("script_location", "migrations")
        config.attributes["connection"] = connection
        command.downgrade(config, "0003")
    old.engine.dispose()
    assert (columns(), stored()) == (before, rows)
    with old.engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM entries").scalar_one() == 0
    migrate(old)
    assert {fingerprint: entry.results for fingerprint, entry in entries(old).items()} == first


def test_failing_pooling_of_entries_rolls_the_migration_back(old: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a process that dies between migration and pooling would leave empty boards for ever."""
    with monkeypatch.context() as patched:
        patched.setattr("service.leaderboards.entries.refresh", _killed)
        with pytest.raises(KeyboardInterrupt):
            migrate(old)
    migrate(old)
    assert len(entries(old)) == 2


def _killed(*_: Any) -> None:
    raise KeyboardInterrupt


def test_missing_plug_in_loses_only_its_own_entries(old: Database) -> None:
    migrate(old)
    with old.engine.begin() as connection:
        text = id_of("exp", "text")
        connection.execute(
            sa.update(EXPERIMENTS).where(EXPERIMENTS.c.id == text).values(spec={**TEXT, "norm": {"method": "gone"}})
        )
        connection.exec_driver_sql("DELETE FROM entries")
    with old.transaction() as session:
        refresh_missing(session)
    assert entries(old).keys() == {resolve(WRITTEN["digits"]).fingerprint()}


def test_stored_specs_have_the_digests_of_the_last_release() -> None:
    """The digests of the stored specs are the fingerprints of the last release."""

    def of(spec: dict[str, Any]) -> str:
        return digest({name: spec.get(name) for name in ("task", "model", "norm", "training") if name in spec})

    assert json.loads(json.dumps(STORED)) == STORED
    assert of(DIGITS) == "d3e6e996321b39b0e8834f6d38b369bdc2b9a85d3bfaf5c0b288c1716d9740d2"
    assert of(TEXT) == "098dcb7e11a4fc74900bb2710477b9c7b003e4cd751e51d387d18a32671cd832"
