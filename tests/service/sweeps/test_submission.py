"""A sweep is stored whole or not at all, and takes one turn with others."""

from typing import Any

import pytest
from sqlalchemy import func, select

from normcore.footprint import footprint
from normcore.spec import resolve
from normcore.spec.models.model import Cost, Model
from normcore.spec.tasks.pixels import PermutedDigits
from service.db import Database
from service.errors import Conflict
from service.experiments import memory
from service.experiments.tables import Experiment, Run
from service.sweeps import api, expansion, submission
from service.sweeps.spec import read
from service.sweeps.tables import Sweep, SweepCell
from tests.service.sample_runs import claimed, finished, submitted
from tests.service.sweeps.sample_sweeps import LR, METHODS, SPEC, posted, runs_of, shown, stored

SEEDS = {**SPEC, "seeds": [0, 1, 2]}


def submit(
    db: Database, body: Any, key: str | None = None, *, digest: str = "d", fails: bool = False
) -> tuple[str, bool]:
    written = read(body)
    cells = expansion.cells(written, None)
    with db.transaction() as session:
        found = submission.submit(session, written, cells, request_digest=digest, idempotency_key=key)
        if fails:
            session.rollback()
        return found.sweep_id, found.is_new


def counts(db: Database) -> list[int]:
    with db.snapshot() as session:
        tables = (Sweep, SweepCell, Experiment, Run)
        return [session.scalar(select(func.count()).select_from(table)) or 0 for table in tables]


def test_each_cell_is_an_experiment_with_the_seeds_and_settings_of_its_sweep(db: Database) -> None:
    spec = {**SEEDS, "device": "cpu", "priority": 7, "labels": {"team": "vision"}}
    sweep_id = stored(db, posted(spec=spec))
    with db.snapshot() as session:
        experiments = session.scalars(select(Experiment).order_by(Experiment.id)).all()
        for experiment, method in zip(experiments, ("none", "layer_norm"), strict=True):
            by_hand = resolve({**spec, "norm": {"method": method}})
            assert experiment.sweep_id == sweep_id
            assert experiment.spec == by_hand.model_dump(mode="json")
            assert experiment.fingerprint == by_hand.fingerprint()
            assert [(run.seed, run.queue, run.priority) for run in experiment.runs] == [(k, "cpu", 7) for k in range(3)]
    assert counts(db) == [1, 2, 2, 6]
    assert [cell.experiment_id for cell in shown(db, sweep_id).cells] == [experiment.id for experiment in experiments]


class UncountedTask(PermutedDigits):
    """A task that must not be asked for its cost."""

    def least_cost(self, model: Model) -> Cost | None:
        raise AssertionError("the memory of a cell was computed in the transaction")


def test_the_memory_of_cells_is_not_computed_in_the_transaction(db: Database) -> None:
    written = read(posted())
    cells = expansion.cells(written, None)
    task = UncountedTask.model_validate(cells[0].spec.task.model_dump())
    uncounted = [cell._replace(spec=cell.spec.model_copy(update={"task": task})) for cell in cells]
    with db.transaction() as session:
        submission.submit(session, written, uncounted, request_digest="d", idempotency_key=None)
    with db.snapshot() as session:
        stored_bytes = set(session.scalars(select(Run.memory_bytes)))
    assert stored_bytes == {memory.tensors(footprint(cell.spec)) for cell in cells} != {None}


def test_a_sweep_that_is_not_committed_leaves_nothing(db: Database) -> None:
    submit(db, posted(), fails=True)
    assert counts(db) == [0, 0, 0, 0]


def test_the_first_seed_of_every_cell_comes_before_the_second_of_any(db: Database) -> None:
    sweep_id = stored(db, posted(spec=SEEDS))
    methods_and_seeds = [(method, seed) for method, seed, _ in runs_of(db, sweep_id)]
    assert methods_and_seeds == [(method, seed) for seed in range(3) for method in ("none", "layer_norm")]
    assert [turn for _, _, turn in runs_of(db, sweep_id)] == [0, 2, 4, 6, 8, 10]


def test_an_experiment_submitted_after_a_sweep_waits_for_one_run_of_it(db: Database) -> None:
    stored(db, posted({LR: [k * 1e-5 for k in range(1, 101)]}))
    alone = submitted(db, "none", seeds=[0, 1]).runs
    order = [claimed(db).lease.run_id for _ in range(5)]
    assert [order.index(run.id) for run in alone] == [1, 3]


def test_a_sweep_that_is_retried_takes_one_turn_as_before(db: Database) -> None:
    sweep_id = stored(db, posted({LR: [k * 1e-5 for k in range(1, 11)]}))
    with db.transaction() as session:
        api.cancel(session, sweep_id)
        assert len(api.retry(session, sweep_id)) == 10
    alone = submitted(db, "none").runs[0].id
    assert [claimed(db).lease.run_id for _ in range(3)].index(alone) == 1


def test_two_sweeps_take_turns(db: Database) -> None:
    first = stored(db, posted({LR: [k * 1e-5 for k in range(1, 11)]}))
    second = stored(db, posted({LR: [k * 1e-4 for k in range(1, 11)]}))
    of = {}
    with db.snapshot() as session:
        for run_id, sweep_id in session.execute(select(Run.id, Experiment.sweep_id).join(Experiment)):
            of[run_id] = sweep_id
    assert [of[claimed(db).lease.run_id] for _ in range(6)] == [first, second] * 3


def test_the_same_key_and_body_finds_the_same_sweep_and_another_body_is_refused(db: Database) -> None:
    first, is_new = submit(db, posted(), "k")
    assert is_new
    assert submit(db, posted(), "k") == (first, False)
    with pytest.raises(Conflict, match="new sweep"):
        submit(db, posted(), "k", digest="e")
    assert submit(db, posted(), "l")[1]
    assert counts(db)[0] == 2


def test_runs_with_and_without_need_of_fused_kernels_have_separate_turns(db: Database) -> None:
    sweep_id = stored(db, posted({"training.kernel": ["reference", "fused"]}, spec=SEEDS))
    turns = [turn for _, _, turn in runs_of(db, sweep_id)]
    assert turns == [0, 0, 2, 2, 4, 4]


def test_a_sweep_of_a_spec_that_is_measured_under_other_code_is_run(db: Database) -> None:
    submitted(db, "none")
    finished(db, claimed(db).lease)
    sweep = shown(db, stored(db, posted(METHODS)))
    assert (sweep.n_runs, sweep.reused_runs) == (2, 0)
