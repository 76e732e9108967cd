"""Entries keep step with the runs, whoever finishes them at the same time."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
import scipy.stats
from sqlalchemy import select
from starlette.testclient import TestClient

from normcore.events import Result
from service.db import Database
from service.leaderboards.tables import Entry
from tests.service.given import claimed, failed, finished, submitted
from tests.service.leaderboards.boards import board, trained_by

DIGITS = {"name": "permuted_digits", "profile": "smoke"}


def entry_of(db: Database, fingerprint: str) -> Entry:
    with db.snapshot() as session:
        return session.scalars(select(Entry).where(Entry.fingerprint == fingerprint)).one()


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
    assert (entry.n_runs, entry.n_seeds, entry.n_diverged) == (4, 4, 1)
    values = [0.8, 0.9, 0.7]
    assert entry.mean == pytest.approx(np.mean(values))
    assert entry.std == pytest.approx(np.std(values, ddof=1))
    low, high = scipy.stats.t.interval(0.95, 2, np.mean(values), scipy.stats.sem(values))
    assert (entry.ci_low, entry.ci_high) == pytest.approx((low, high))
    assert (entry.steps_median, entry.steps_reached) == (None, 2)
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
    assert (entry.n_runs, entry.n_seeds) == (8 + earlier, 8 + earlier)
    assert entry.mean == pytest.approx(np.mean([k / 10 for k in range(8 + earlier)]))
    assert entry.steps_median == np.median([k + 1 for k in range(8 + earlier)])


def test_an_entry_keeps_the_result_of_every_run_in_the_order_of_seeds(db: Database) -> None:
    """So that every statistic can be computed from it, and traced to its run."""
    first = submitted(db, seeds=[5, 2])
    values = {"accuracy": 0.8, "error_rate": 0.2}
    later, earlier = claimed(db).lease, claimed(db).lease
    finished(db, later, value=0.8, values=values, no_skill=0.1, steps_to_target=20)
    finished(db, earlier, "diverged", value=None, steps_to_target=None, seconds_to_target=None)
    again = submitted(db, seeds=[5])
    repeated = claimed(db).lease
    finished(db, repeated, value=0.6, values={"accuracy": 0.6, "error_rate": 0.4})
    entry = entry_of(db, first.fingerprint)
    assert again.fingerprint == first.fingerprint
    of_seed = {run.seed: run.id for run in first.runs}
    assert [(r["run_id"], r["seed"], r["outcome"], r["value"], r["values"]) for r in entry.results] == [
        (of_seed[2], 2, "diverged", None, {}),
        (of_seed[5], 5, "completed", 0.8, values),
        (repeated.run_id, 5, "completed", 0.6, {"accuracy": 0.6, "error_rate": 0.4}),
    ]
    assert set(entry.results[1]) == {"run_id", "seed", "outcome", "kernel", *(field.name for field in fields(Result))}
    assert (entry.results[1]["no_skill"], entry.results[1]["steps_to_target"]) == (0.1, 20)
    assert (entry.n_runs, entry.n_seeds, entry.n_diverged) == (3, 2, 1)
    pooled = {name: (center["mean"], center["ci95"]) for name, center in entry.values.items()}
    assert pooled == {"accuracy": (pytest.approx(0.7), None), "error_rate": (pytest.approx(0.3), None)}


def test_runs_that_have_not_succeeded_leave_no_result(db: Database) -> None:
    experiment = submitted(db, seeds=[0, 1, 2])
    finished(db, claimed(db).lease)
    failed(db, claimed(db).lease)
    assert [result["seed"] for result in entry_of(db, experiment.fingerprint).results] == [0]


def test_all_metrics_have_intervals_of_their_own(db: Database) -> None:
    experiment = submitted(db, seeds=range(3))
    accuracies, errors = [0.8, 0.9, 0.7], [0.25, 0.5, 0.0]
    for accuracy, error in zip(accuracies, errors, strict=True):
        finished(db, claimed(db).lease, value=accuracy, values={"accuracy": accuracy, "error_rate": error})
    entry = entry_of(db, experiment.fingerprint)
    for name, values in {"accuracy": accuracies, "error_rate": errors}.items():
        low, high = scipy.stats.t.interval(0.95, 2, np.mean(values), scipy.stats.sem(values))
        assert entry.values[name]["mean"] == pytest.approx(np.mean(values))
        assert entry.values[name]["std"] == pytest.approx(np.std(values, ddof=1))
        assert entry.values[name]["ci95"] == pytest.approx([low, high])
    assert (entry.mean, entry.ci_low, entry.ci_high) == (
        entry.values["accuracy"]["mean"],
        *entry.values["accuracy"]["ci95"],
    )


def test_an_entry_says_which_kernel_its_runs_had(client: TestClient, db: Database) -> None:
    trained_by(db, "layer_norm", "fused", "fused")
    trained_by(db, "none", "fused", "reference")
    trained_by(db, "rms_norm", "reference")
    submitted(db, "layer_norm", seeds=[2])
    failed(db, claimed(db).lease)  # it has none, and counts for nothing
    for query in ({}, {"rank_by": "seconds_to_target"}):
        entries = board(client, **query)["entries"]
        assert {entry["method"]: entry["kernel"] for entry in entries} == {
            "layer_norm": "fused",
            "none": "mixed",
            "rms_norm": "reference",
        }
    trained_by(db, "rms_norm", "fused")
    assert {entry["method"]: entry["kernel"] for entry in board(client)["entries"]}["rms_norm"] == "mixed"
