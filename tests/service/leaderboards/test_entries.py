"""Entries keep step with the runs, whoever finishes them at the same time."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.stats
from sqlalchemy import select

from service.db import Database
from service.leaderboards.tables import Entry
from tests.service.given import claimed, failed, finished, submitted


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
