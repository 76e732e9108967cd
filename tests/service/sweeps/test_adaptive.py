"""An adaptive sweep gives seeds to the cells whose order is open, and to no others."""

import random
from collections.abc import Mapping
from typing import Any

import pytest
from sqlalchemy import select

from normcore.footprint import footprint
from normcore.spec import resolve
from service.db import Database
from service.experiments.memory import tensors
from service.experiments.tables import Run
from service.processes.scheduler import look
from service.settings import Settings
from service.sweeps import adaptive, api
from tests.service.sample_runs import claimed, failed, submitted
from tests.service.sweeps.sample_sweeps import cell, posted, run_all, runs_of, shown, stored

THREE = {"norm.method": ["none", "layer_norm", "recurrent_batch_norm"]}
MEANS = {"none": 0.2, "layer_norm": 0.80, "recurrent_batch_norm": 0.81}


def worth(spec: Mapping[str, Any], seed: int) -> float:
    """``none`` is far below the other two, which differ by less than their seeds."""
    method = spec["norm"]["method"]
    return MEANS[method] + random.Random(f"{method} {seed}").gauss(0, 0.02)


def advanced(db: Database) -> int:
    """Number of runs that the next step brings."""
    with db.transaction() as session:
        return len(adaptive.advance(session))


def seeds(db: Database, sweep_id: str) -> dict[str, int]:
    return {one.values["norm.method"]: len(one.seeds) for one in shown(db, sweep_id).cells}


def test_seeds_go_to_cells_whose_order_is_open_until_there_are_twenty(db: Database) -> None:
    sweep_id = stored(db, posted(THREE, adaptive=True))
    rounds = 0
    while True:
        run_all(db, worth)
        rounds += 1
        if not advanced(db):
            break
        assert shown(db, sweep_id).state == "running"
    counts = seeds(db, sweep_id)
    assert counts["layer_norm"] == counts["recurrent_batch_norm"] == 20
    assert 3 < counts["none"] < 10
    assert rounds == 18
    sweep = shown(db, sweep_id)
    assert sweep.state == "succeeded"
    assert sweep.n_runs == sum(counts.values()) == sweep.progress.done
    assert (sweep.n_experiments, len(sweep.cells)) == (3, 3)
    assert advanced(db) == 0


def test_each_seed_is_the_next_and_an_experiment_of_the_same_spec(db: Database) -> None:
    sweep_id = stored(db, posted(THREE, adaptive=True, spec={**posted()["spec"], "priority": 7, "labels": {"a": "b"}}))
    run_all(db, worth)
    assert advanced(db) == 3
    added = [method for method, seed, _ in runs_of(db, sweep_id) if seed > 2]
    assert added == THREE["norm.method"]
    lease = claimed(db)
    assert (lease.spec["priority"], lease.spec["labels"], lease.spec["seeds"]) == (7, {"a": "b"}, [3])


def test_added_seeds_say_how_much_memory_they_need(db: Database) -> None:
    stored(db, posted(THREE, adaptive=True))
    run_all(db, worth)
    assert advanced(db) == 3
    with db.snapshot() as session:
        needed = session.scalars(select(Run.memory_bytes).where(Run.seed > 2)).all()
    spec = resolve(posted()["spec"])
    assert needed == [tensors(footprint(spec))] * 3 != [None] * 3


def test_while_runs_wait_or_run_nothing_is_decided(db: Database) -> None:
    stored(db, posted(THREE, adaptive=True))
    assert advanced(db) == 0
    run_all(db, worth)
    assert advanced(db) == 3
    claimed(db)
    assert advanced(db) == 0


def test_a_step_that_is_not_committed_is_taken_again(db: Database) -> None:
    sweep_id = stored(db, posted(THREE, adaptive=True))
    run_all(db, worth)
    with db.transaction() as session:
        assert len(adaptive.advance(session)) == 3
        session.rollback()
    assert seeds(db, sweep_id) == dict.fromkeys(THREE["norm.method"], 3)
    assert advanced(db) == 3
    assert seeds(db, sweep_id) == dict.fromkeys(THREE["norm.method"], 4)


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_second_scheduler_skips_a_sweep_whose_step_is_being_taken(db: Database) -> None:
    sweep_id = stored(db, posted(THREE, adaptive=True))
    run_all(db, worth)
    with db.transaction() as session:
        assert len(adaptive.advance(session)) == 3
        assert advanced(db) == 0
    assert advanced(db) == 0
    assert seeds(db, sweep_id) == dict.fromkeys(THREE["norm.method"], 4)


def test_a_cell_with_a_failed_run_gets_no_more_seeds_and_other_cells_do(db: Database) -> None:
    sweep_id = stored(db, posted(THREE, adaptive=True))
    failed(db, claimed(db).lease)
    run_all(db, worth)
    assert advanced(db) == 2
    assert seeds(db, sweep_id) == {"none": 3, "layer_norm": 4, "recurrent_batch_norm": 4}


def test_a_cancelled_sweep_gets_no_seeds_until_it_is_retried(db: Database) -> None:
    sweep_id = stored(db, posted(THREE, adaptive=True))
    with db.transaction() as session:
        api.cancel(session, sweep_id)
    assert advanced(db) == 0
    assert shown(db, sweep_id).state == "cancelled"
    with db.transaction() as session:
        assert len(api.retry(session, sweep_id)) == 9
    run_all(db, worth)
    assert advanced(db) == 3


def test_a_sweep_that_is_cancelled_between_two_steps_gets_no_seeds(db: Database) -> None:
    sweep_id = stored(db, posted(THREE, adaptive=True))
    run_all(db, worth)
    with db.transaction() as session:
        api.cancel(session, sweep_id)
    assert advanced(db) == 0
    assert shown(db, sweep_id).state == "succeeded"


def test_seeds_measured_elsewhere_do_not_count_before_the_sweep_has_them(db: Database) -> None:
    def apart_later(spec: Mapping[str, Any], seed: int) -> float:
        return worth(spec, seed) if seed < 3 else MEANS[spec["norm"]["method"]] + seed / 1000

    for method in ("layer_norm", "recurrent_batch_norm"):
        submitted(db, method, seeds=range(3, 20))
    run_all(db, apart_later)
    stored(db, posted({"norm.method": THREE["norm.method"][1:]}, adaptive=True, reuse=False))
    run_all(db, apart_later)
    assert advanced(db) == 2


def test_seeds_that_are_measured_already_are_counted_and_not_run(db: Database) -> None:
    submitted(db, "none", seeds=range(8))
    run_all(db, worth)
    sweep_id = stored(db, posted(THREE, adaptive=True))
    assert shown(db, sweep_id).reused_runs == 3
    run_all(db, worth)
    assert advanced(db) == 2
    found = cell(db, sweep_id, method="none")
    assert (found.seeds, found.reused_runs) == ([0, 1, 2, 3], 4)
    assert shown(db, sweep_id).reused_runs == 4


def test_a_sweep_whose_seeds_are_all_measured_takes_all_steps_at_once(db: Database) -> None:
    for method in THREE["norm.method"]:
        submitted(db, method, seeds=range(20))
    run_all(db, worth)
    sweep_id = stored(db, posted(THREE, adaptive=True))
    assert shown(db, sweep_id).state == "running"
    assert advanced(db) == 0
    sweep = shown(db, sweep_id)
    assert sweep.state == "succeeded"
    assert seeds(db, sweep_id)["layer_norm"] == 20
    assert sweep.n_runs == sweep.reused_runs


def test_a_diverged_seed_counts_as_the_level_without_skill(db: Database) -> None:
    sweep_id = stored(db, posted(adaptive=True))
    while True:
        run_all(db, lambda spec, seed: None if spec["norm"]["method"] == "none" else 0.8 + seed / 100)
        if not advanced(db):
            break
    assert 3 < seeds(db, sweep_id)["none"] < 10


def test_seeds_that_explode_need_no_more_seeds_than_seeds_that_diverge(db: Database) -> None:
    """Values that exploded to different sizes would keep the order open up to twenty seeds, if they were not capped."""
    sweep_id = stored(db, posted(adaptive=True))
    while True:
        run_all(db, lambda spec, seed: -(1000.0**seed) if spec["norm"]["method"] == "none" else 0.8 + seed / 100)
        if not advanced(db):
            break
    assert 3 < seeds(db, sweep_id)["none"] < 10


def test_a_sweep_that_is_not_adaptive_gets_no_seeds(db: Database) -> None:
    stored(db, posted(THREE))
    run_all(db, worth)
    assert advanced(db) == 0


def test_the_scheduler_takes_the_steps_and_notifies_workers(db: Database, settings: Settings) -> None:
    stored(db, posted(THREE, adaptive=True))
    run_all(db, worth)
    assert len(look(db, settings)) == 3
    run_all(db, worth)
    assert len(look(db, settings)) in (2, 3)
