"""All migrations run up, down and up again, and the final tables equal the models."""

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from typing import Any

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text

from service.db import Base, Database
from service.experiments import tables as experiments
from service.fleet import tables as fleet
from service.keys import tables as keys  # noqa: F401
from service.leaderboards.submitted_results import tables as submitted_results  # noqa: F401
from service.processes.migrate import migrate, newest_revision
from tests.processes import until
from tests.service.sample_runs import claimed, finished, submitted

SECONDS = 60.0
PROGRAM = """
import os, sys
from service.db import Database
from service.processes.migrate import migrate

children = []
for _ in range(3):
    child = os.fork()
    if child == 0:
        migrate(Database(sys.argv[1]))
        sys.exit()
    children.append(child)
print([os.waitpid(child, 0)[1] for child in children])
"""


@pytest.fixture
def empty(database_url: str) -> Any:
    db = Database(database_url)
    yield db
    db.close()


def tables_of(db: Database) -> dict[str, set[str]]:
    inspector = inspect(db.engine)
    return {
        name: {column["name"] for column in inspector.get_columns(name)}
        for name in inspector.get_table_names()
        if name != "alembic_version"
    }


def differences(db: Database) -> list[Any]:
    """Changes that Alembic would make. It cannot read DESC in an index on SQLite, which has a separate test."""

    def is_legible(item: object, name: str | None, kind: str, *_: object) -> bool:
        return not (db.is_sqlite and kind == "index" and name == "ix_runs_state_queue_turn")

    opts = {"compare_type": True, "compare_server_default": True, "include_object": is_legible}
    with db.engine.connect() as connection:
        return list(compare_metadata(MigrationContext.configure(connection, opts=opts), Base.metadata))


def test_tables_are_created_dropped_and_created_again(empty: Database) -> None:
    migrate(empty)
    first = tables_of(empty)
    assert set(first) == set(Base.metadata.tables)
    migrate(empty, "base")
    assert tables_of(empty) == {}
    migrate(empty)
    assert tables_of(empty) == first
    submitted(empty)
    finished(empty, claimed(empty).lease)


def test_migrating_again_changes_nothing_and_keeps_the_rows(empty: Database) -> None:
    migrate(empty)
    submitted(empty)
    migrate(empty)
    assert claimed(empty)


def test_after_all_migrations_the_tables_equal_the_models(empty: Database) -> None:
    migrate(empty)
    assert differences(empty) == []


def test_renamed_and_resized_columns_keep_their_values(empty: Database) -> None:
    migrate(empty, "0002")
    columns = (
        "id, experiment_id, seed, queue, priority, max_steps, state, attempt, times_lost, history, cancel_requested,"
        " step, seconds, created_at"
    )
    values = "'run_1', 'exp_1', 0, 'cpu', 5, 40, 'queued', 2, 0, '[]', false, 0, 0.0, '2026-01-01 00:00:00+00:00'"
    with empty.engine.begin() as connection:
        connection.exec_driver_sql(
            "INSERT INTO experiments (id, fingerprint, setting, task, profile, spec, request_digest, created_at)"
            " VALUES ('exp_1', 'f', 's', 't', 'p', '{}', 'd', '2026-01-01 00:00:00+00:00')"
        )
        connection.exec_driver_sql(
            f"INSERT INTO runs ({columns}, rung_at, began_attempt, kernel) VALUES ({values}, 12.5, 1, 'reference')"
        )
        connection.exec_driver_sql("INSERT INTO measurements VALUES ('run_1', 10, 'train.loss', 0.5, 1.0, 1)")
    migrate(empty)
    with empty.snapshot() as session:
        run = session.get_one(experiments.Run, "run_1")
        assert (run.notified_at, run.started_attempt, run.kernel) == (12.5, 1, "reference")
        assert session.get(experiments.Measurement, ("run_1", 10, "train.loss")) is not None


def test_old_workers_have_and_old_runs_need_no_fused_kernels(empty: Database) -> None:
    migrate(empty, "0004")
    with empty.engine.begin() as connection:
        connection.exec_driver_sql(
            "INSERT INTO workers VALUES ('wrk_1', 'host', 1, 'cpu', 'auto,cpu', '2026-01-01 00:00:00+00:00', 12.5)"
        )
        connection.exec_driver_sql(
            "INSERT INTO experiments (id, fingerprint, setting, task, profile, spec, request_digest, created_at)"
            " VALUES ('exp_1', 'f', 's', 't', 'p', '{}', 'd', '2026-01-01 00:00:00+00:00')"
        )
        connection.exec_driver_sql(
            "INSERT INTO runs (id, experiment_id, seed, queue, priority, max_steps, state, attempt, times_lost,"
            " history, cancel_requested, step, seconds, created_at) VALUES ('run_1', 'exp_1', 0, 'cpu', 5, 40,"
            " 'queued', 1, 0, '[]', false, 0, 0.0, '2026-01-01 00:00:00+00:00')"
        )
    migrate(empty)
    with empty.snapshot() as session:
        assert session.get_one(fleet.Worker, "wrk_1").fused is False
        run = session.get_one(experiments.Run, "run_1")
        assert (run.needs_fused, run.phase) == (False, None)


def test_old_entries_get_the_kernel_of_their_runs(empty: Database) -> None:
    migrate(empty, "0004")
    known = "seed, queue, priority, max_steps, attempt, times_lost, history, cancel_requested, step, seconds"
    values = "0, 'cpu', 5, 40, 1, 0, '[]', false, 40, 1.0"
    runs = {
        "fused": [("fused", "succeeded"), ("fused", "succeeded"), ("reference", "failed")],
        "mixed": [("fused", "succeeded"), ("reference", "succeeded")],
        "both": [("fused reference", "succeeded")],
        "reference": [("reference", "succeeded")],
    }
    with empty.engine.begin() as connection:
        for name, of_entry in runs.items():
            connection.exec_driver_sql(
                "INSERT INTO experiments (id, fingerprint, setting, task, profile, spec, request_digest, created_at)"
                f" VALUES ('exp_{name}', '{name}', 's', 't', 'p', '{{}}', 'd', '2026-01-01 00:00:00+00:00')"
            )
            for k, (kernel, state) in enumerate(of_entry):
                connection.exec_driver_sql(
                    f"INSERT INTO runs (id, experiment_id, {known}, created_at, kernel, state)"
                    f" VALUES ('run_{name}_{k}', 'exp_{name}', {values}, '2026-01-01 00:00:00+00:00',"
                    f" '{kernel}', '{state}')"
                )
            connection.exec_driver_sql(
                "INSERT INTO entries (fingerprint, setting, task, profile, method, problem, options, budget, results,"
                ' "values", changes, experiments, n_runs, n_seeds, n_diverged, steps_reached, seconds_reached) VALUES'
                f" ('{name}', 's', 't', 'p', 'none', 'a', '{{}}', 1, '[]', '{{}}', '{{}}', '[]', 1, 1, 0, 0, 0)"
            )
    migrate(empty, "0005")
    with empty.engine.begin() as connection:
        got = connection.exec_driver_sql("SELECT fingerprint, kernel FROM entries ORDER BY fingerprint").all()
    assert got == [("both", "mixed"), ("fused", "fused"), ("mixed", "mixed"), ("reference", "reference")]


def test_difference_between_tables_and_models_is_noticed(empty: Database) -> None:
    migrate(empty)
    with empty.engine.begin() as connection:
        connection.exec_driver_sql("DROP INDEX ix_runs_experiment_id")
        connection.exec_driver_sql("ALTER TABLE api_keys ADD COLUMN surplus INTEGER")
    assert len(differences(empty)) == 2


def test_indexes_and_keys_are_those_of_the_models(empty: Database) -> None:
    migrate(empty)
    inspector = inspect(empty.engine)
    for name, table in Base.metadata.tables.items():
        assert {index["name"] for index in inspector.get_indexes(name) if not index.get("duplicates_constraint")} == {
            index.name for index in table.indexes
        }
        assert inspector.get_pk_constraint(name)["constrained_columns"] == [c.name for c in table.primary_key.columns]
        assert {tuple(key["constrained_columns"]) for key in inspector.get_foreign_keys(name)} == {
            tuple(key.column_keys) for key in table.foreign_key_constraints
        }


def test_the_queues_index_is_in_the_order_in_which_runs_are_claimed(empty: Database) -> None:
    migrate(empty)
    catalogue = (
        "SELECT sql FROM sqlite_master WHERE name = 'ix_runs_state_queue_turn'"
        if empty.is_sqlite
        else "SELECT indexdef FROM pg_indexes WHERE indexname = 'ix_runs_state_queue_turn'"
    )
    with empty.engine.connect() as connection:
        definition = connection.exec_driver_sql(catalogue).scalar_one()
    assert "(state, queue, needs_fused, priority DESC, turn, id, memory_bytes)" in definition


def test_processes_that_migrate_at_the_same_time_all_succeed(empty: Database) -> None:
    """The processes are forked after the imports, so that they begin together."""
    command = [sys.executable, "-c", PROGRAM, empty.url]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=True)
    assert done.stdout == "[0, 0, 0]\n", done.stderr
    assert differences(empty) == []


def test_threads_that_migrate_at_the_same_time_all_succeed(empty: Database) -> None:
    def work(_: int) -> None:
        own = Database(empty.url)
        migrate(own)
        own.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    assert differences(empty) == []


def test_migrated_and_closed_database_keeps_no_session(postgres_url: str, fresh_postgres_url: str) -> None:
    db = Database(fresh_postgres_url)
    migrate(db)
    db.close()
    sessions = text("SELECT count(*) FROM pg_stat_activity WHERE datname = :name")
    with closing(Database(postgres_url)) as server, server.snapshot() as session:
        name = {"name": fresh_postgres_url.rpartition("/")[2]}
        until(lambda: session.scalar(sessions, name) == 0, 5, str)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_migration_waits_for_a_writer(empty: Database) -> None:
    other = Database(empty.url)
    with ThreadPoolExecutor(1) as pool:
        with other.transaction() as session:
            session.execute(text("CREATE TABLE theirs (id INTEGER)"))
            migrating = pool.submit(migrate, empty)
            wait([migrating], timeout=0.5)
        migrating.result()
    other.close()
    assert set(tables_of(empty)) == {*Base.metadata.tables, "theirs"}


def test_history_of_migrations_has_a_single_head_which_its_file_names(empty: Database) -> None:
    assert ScriptDirectory("migrations").get_heads() == [newest_revision()]
