"""Entries agree with their runs, even if several runs end at the same time."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select
from starlette.testclient import TestClient

from service.db import Database
from service.experiments.tables import Run
from service.leaderboards import entries
from service.leaderboards.entry import EntryStatistics, RunResult, read_pooled
from service.leaderboards.tables import Entry
from tests.service.leaderboards.boards import board, trained_by
from tests.service.sample_runs import MAX_STEPS, claimed, failed, finished, measured, recorded, submitted, timing_of

DIGITS = {"name": "permuted_digits", "profile": "smoke"}


def entry_of(db: Database, fingerprint: str) -> Entry:
    with db.snapshot() as session:
        return session.scalars(select(Entry).where(Entry.fingerprint == fingerprint)).one()


def pooled_of(entry: Entry) -> EntryStatistics:
    return read_pooled(entry.pooled)


def test_an_entry_pools_all_succeeded_runs_of_its_fingerprint(db: Database) -> None:
    first = submitted(db, "layer_norm", seeds=[0, 1, 2])
    for value, steps in ((0.8, 10), (0.9, 30), (0.7, None)):
        finished(db, claimed(db).lease, value=value, steps_to_target=steps, seconds_to_target=steps)
    second = submitted(db, "layer_norm", seeds=[3, 4])
    finished(db, claimed(db).lease, "diverged", value=None, steps_to_target=None, seconds_to_target=None)
    failed(db, claimed(db).lease)
    entry = entry_of(db, first.fingerprint)
    assert second.fingerprint == first.fingerprint
    assert (entry.task, entry.profile, entry.method) == ("permuted_digits", "smoke", "layer_norm")
    assert (entry.n_runs, entry.conflicting_seeds) == (4, [])
    assert [RunResult(**stored).seed for stored in entry.results] == [0, 1, 2, 3]
    pooled, values = pooled_of(entry), [0.8, 0.9, 0.7]
    assert pooled.value is not None
    assert (pooled.n_seeds, pooled.n_diverged) == (4, 1)
    assert pooled.value.mean == pytest.approx(np.mean(values))
    assert pooled.score == pytest.approx((sum(values) + 0.1) / 4)
    assert (pooled.steps.median, pooled.steps.reached) == (None, 2), (
        "nobody knows when the third of four would be there"
    )
    assert entry.experiments == [second.id, first.id]
    assert entry.changes == {}


def test_an_entry_says_in_which_fields_it_departs_from_the_profile(db: Database) -> None:
    experiment = submitted(db, "layer_norm", training={"batch_size": 17}, model={"hidden_size": 21})
    finished(db, claimed(db).lease)
    assert entry_of(db, experiment.fingerprint).changes == {"training.batch_size": 17, "model.hidden_size": 21}


@pytest.mark.parametrize(
    ("method", "parts", "changes"),
    [
        ("layer_norm", {"task": {**DIGITS, "permutation_seed": 7}}, {"task.permutation_seed": 7}),
        ("none", {"norm": {"method": "layer_norm", "gain_init": 0.5}}, {"norm.gain_init": 0.5}),
        ("layer_norm", {"norm": {"method": "layer_norm", "gain_init": 1.0}}, {}),
        ("recurrent_batch_norm", {"model": {"cell": "gru"}}, {"model.cell": "gru"}),
        ("none", {"training": {"optimizer": {"lr": 0.5}}}, {"training.optimizer.lr": 0.5}),
        ("none", {"seeds": [3], "priority": 9, "labels": {"a": "b"}}, {}),
    ],
)
def test_changes_are_against_the_profile_for_the_same_method_and_cell(
    db: Database, method: str, parts: dict[str, Any], changes: dict[str, Any]
) -> None:
    experiment = submitted(db, method, **parts)
    finished(db, claimed(db).lease)
    assert entry_of(db, experiment.fingerprint).changes == changes


@pytest.mark.parametrize("earlier", [0, 1])
def test_runs_that_end_at_the_same_time_all_count(db: Database, earlier: int) -> None:
    experiment = submitted(db, seeds=range(8 + earlier))
    for _ in range(earlier):
        finished(db, claimed(db).lease, value=0.8, steps_to_target=9)
    leases = [claimed(db).lease for _ in range(8)]
    ready = threading.Barrier(8)

    def work(k: int) -> None:
        ready.wait()
        finished(db, leases[k], value=k / 10, steps_to_target=k + 1)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(8)))
    entry = entry_of(db, experiment.fingerprint)
    pooled = pooled_of(entry)
    assert pooled.value is not None
    assert (entry.n_runs, pooled.n_seeds) == (8 + earlier, 8 + earlier)
    assert pooled.value.mean == pytest.approx(np.mean([k / 10 for k in range(8 + earlier)]))
    assert pooled.steps.median == np.median([k + 1 for k in range(8 + earlier)])


def test_an_entry_keeps_what_counts_of_each_seed_in_their_order(db: Database) -> None:
    """Every statistic of the entry can be computed from these values, and traced to its run."""
    first = submitted(db, seeds=[5, 2])
    values = {"accuracy": 0.8, "error_rate": 0.2}
    later, earlier = claimed(db).lease, claimed(db).lease
    finished(db, later, value=0.8, values=values, no_skill=0.1, steps_to_target=20, seconds_to_target=5.0)
    finished(db, earlier, "diverged", value=None, steps_to_target=None, seconds_to_target=None)
    again = submitted(db, seeds=[5])
    finished(db, claimed(db).lease, value=0.6, values={"accuracy": 0.6, "error_rate": 0.4})
    entry = entry_of(db, first.fingerprint)
    assert again.fingerprint == first.fingerprint
    of_seed = {run.seed: run.id for run in first.runs}
    diverged, counted = (RunResult(**stored) for stored in entry.results)
    assert (diverged.run_id, diverged.seed, diverged.diverged, diverged.value) == (of_seed[2], 2, True, None)
    assert (counted.run_id, counted.seed, counted.value, counted.values) == (of_seed[5], 5, 0.8, values)
    assert (counted.reached, counted.steps, counted.seconds, counted.no_skill) == (True, 20, 5.0, 0.1)
    assert (entry.n_runs, entry.conflicting_seeds) == (3, [5])


def test_a_diverged_miss_was_watched_to_the_end_of_its_budget(db: Database) -> None:
    experiment = submitted(db, seeds=[0, 1])
    lease = claimed(db).lease
    recorded(db, lease, measured(10))
    missed: dict[str, Any] = {"value": None, "steps_to_target": None, "seconds_to_target": None, "train_seconds": 2.0}
    finished(db, lease, "diverged", **missed)
    finished(db, claimed(db).lease, **{**missed, "steps_below_target": 30, "seconds_below_target": 3.0})
    diverged, missed_it = (RunResult(**stored) for stored in entry_of(db, experiment.fingerprint).results)
    assert (diverged.reached, diverged.steps, diverged.seconds) == (False, MAX_STEPS, 2.0 * MAX_STEPS / 10)
    assert (missed_it.reached, missed_it.steps, missed_it.seconds) == (False, 30, 3.0)


def test_a_time_to_another_target_does_not_count_on_the_board(db: Database) -> None:
    experiment = submitted(db, training={"target": 0.123})
    finished(db, claimed(db).lease, steps_to_target=10, seconds_to_target=1.0)
    [stored] = entry_of(db, experiment.fingerprint).results
    assert RunResult(**stored).reached is None


def test_pooling_anew_gives_the_same_entry_as_adding_runs(db: Database) -> None:
    experiment = submitted(db, seeds=[0, 1, 2])
    for value in (0.8, 0.7, 0.9):
        finished(db, claimed(db).lease, value=value)
    submitted(db, seeds=[1])
    finished(db, claimed(db).lease, value=0.75)

    def content() -> dict[str, Any]:
        entry = entry_of(db, experiment.fingerprint)
        return {column.name: getattr(entry, column.name) for column in Entry.__table__.columns}

    added = content()
    assert (added["n_runs"], added["conflicting_seeds"]) == (4, [1])
    with db.transaction() as session:
        entries.refresh(session, experiment.fingerprint)
    assert content() == added


def test_runs_that_have_not_succeeded_add_no_result(db: Database) -> None:
    experiment = submitted(db, seeds=[0, 1, 2])
    finished(db, claimed(db).lease)
    failed(db, claimed(db).lease)
    assert [result["seed"] for result in entry_of(db, experiment.fingerprint).results] == [0]


def test_an_entry_says_which_kernel_its_runs_had(client: TestClient, db: Database) -> None:
    trained_by(db, "layer_norm", "fused", "fused")
    trained_by(db, "none", "fused", "reference")
    trained_by(db, "rms_norm", "reference")
    submitted(db, "layer_norm", seeds=[2])
    failed(db, claimed(db).lease)  # a failed run has no result and does not count
    for query in ({}, {"rank_by": "seconds_to_target"}):
        entries = board(client, **query)["entries"]
        assert {entry["method"]: entry["kernel"] for entry in entries} == {
            "layer_norm": "fused",
            "none": "mixed",
            "rms_norm": "reference",
        }
    trained_by(db, "rms_norm", "fused", first_seed=1)
    assert {entry["method"]: entry["kernel"] for entry in board(client)["entries"]}["rms_norm"] == "mixed"


IN_COMPANY = timing_of(probe=[0.03] * 9)


def test_seconds_of_contended_runs_leave_the_board_and_steps_stay(client: TestClient, db: Database) -> None:
    fingerprint = submitted(db, "layer_norm", seeds=[0, 1, 2]).fingerprint
    for steps, timing in ((10, None), (20, IN_COMPANY), (30, None)):
        finished(db, claimed(db).lease, steps_to_target=steps, seconds_to_target=steps / 10, timing=timing)
    submitted(db, "none", seeds=[0, 1])
    for steps in (10, 20):
        finished(db, claimed(db).lease, steps_to_target=steps, seconds_to_target=steps / 10, timing=IN_COMPANY)
    pooled = pooled_of(entry_of(db, fingerprint))
    assert (pooled.contended, pooled.steps.reached, pooled.steps.median) == (1, 3, 20)
    assert (pooled.seconds.reached, pooled.seconds.median) == (2, 2.0)

    by_steps = {entry["method"]: entry for entry in board(client, rank_by="steps_to_target")["entries"]}
    assert {method: (entry["rank"], entry["contended"]) for method, entry in by_steps.items()} == {
        "none": (1, 2),
        "layer_norm": (2, 1),
    }
    assert {method: entry["too_few_seeds"] for method, entry in by_steps.items()} == {"none": True, "layer_norm": False}
    by_seconds = {entry["method"]: entry for entry in board(client, rank_by="seconds_to_target")["entries"]}
    assert {method: entry["rank"] for method, entry in by_seconds.items()} == {"layer_norm": 1, "none": None}
    assert by_seconds["layer_norm"]["too_few_seeds"], "only two of its seeds were alone on their machine"
    assert by_seconds["none"]["seconds_to_target"]["median"] is None
    assert (by_seconds["none"]["hardware"], by_seconds["none"]["contended"]) == (None, 2)


def test_the_run_of_a_repeated_seed_that_was_alone_counts(db: Database) -> None:
    fingerprint = submitted(db, "layer_norm", seeds=[0]).fingerprint
    finished(db, claimed(db).lease, seconds_to_target=9.0, timing=IN_COMPANY)
    submitted(db, "layer_norm", seeds=[0])
    finished(db, claimed(db).lease, seconds_to_target=2.0)
    entry = entry_of(db, fingerprint)
    assert [(r["seconds"], r["contended"]) for r in entry.results] == [(2.0, False)]
    assert (entry.n_runs, entry.conflicting_seeds) == (2, [])


def test_a_run_without_a_certificate_counts_as_contended(db: Database) -> None:
    """Runs that ended before there were certificates have no certificate."""
    fingerprint = submitted(db, "layer_norm").fingerprint
    lease = claimed(db).lease
    finished(db, lease)
    with db.transaction() as session:
        session.get_one(Run, lease.run_id).timing = None
        session.flush()
        entries.refresh(session, fingerprint)
    assert pooled_of(entry_of(db, fingerprint)).contended == 1
