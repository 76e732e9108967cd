"""The database at real size has what its description promises."""

from collections import Counter
from collections.abc import Iterator

import pytest
from sqlalchemy import func, select

from service.db import Database
from service.experiments.tables import Experiment, Label, Measurement, Run
from service.leaderboards.tables import Entry
from service.sweeps.tables import SweepCell
from tests.service.pages.conftest import Demo
from tests.service.pages.real_size import BOARD, CELLS, ENTRIES, PEOPLE, RUNS, SEEDS


@pytest.fixture(scope="module")
def db(month: Demo) -> Iterator[Database]:
    database = Database(f"sqlite:///{month.path}")
    yield database
    database.close()


def test_the_month_has_2180_runs_in_all_states(db: Database) -> None:
    with db.snapshot() as session:
        states = Counter(session.scalars(select(Run.state)))
        analyses = session.scalar(select(func.count()).where(Experiment.problem.is_(None)))
    assert sum(states.values()) - (analyses or 0) == RUNS
    assert {"succeeded", "failed", "cancelled", "running", "queued"} == states.keys()


def test_the_large_board_has_63_entries_of_which_one_has_3_of_5_seeds_diverged(db: Database) -> None:
    with db.snapshot() as session:
        found = session.scalars(select(Entry).where(Entry.task == BOARD, Entry.profile == "small")).all()
    assert len(found) == ENTRIES
    diverged = [sum(result["diverged"] for result in entry.results) for entry in found]
    assert Counter(diverged) == {0: ENTRIES - 2, 3: 1, 5: 1}


def test_the_sweep_has_100_cells_and_an_experiment_has_100_seeds(db: Database, month: Demo) -> None:
    with db.snapshot() as session:
        cells = session.scalar(select(func.count()).where(SweepCell.sweep_id == month.found["sweep"]))
        seeds = session.scalars(select(Run.seed).where(Run.experiment_id == month.found["many seeds"])).all()
    assert cells == CELLS
    assert sorted(seeds) == [*range(SEEDS)]


def test_experiments_carry_the_labels_of_five_people(db: Database) -> None:
    with db.snapshot() as session:
        assert set(session.scalars(select(Label.value).where(Label.key == "who"))) == set(PEOPLE)


def test_every_run_that_succeeded_has_a_curve(db: Database) -> None:
    with db.snapshot() as session:
        trained = select(Run.id).join(Experiment).where(Run.state == "succeeded", Experiment.problem.is_not(None))
        without = session.scalar(select(func.count()).where(Run.id.in_(trained.except_(select(Measurement.run_id)))))
    assert without == 0
