"""Stored specs of an older version, and rows that name them by their fingerprints, are upgraded to this version."""

from sqlalchemy import select, update

from normcore.spec.evolution import SPEC_VERSION
from service.db import Database
from service.experiments.tables import Experiment
from service.leaderboards.submitted_results.tables import SubmittedResult
from service.old_specs import has_old_specs
from service.processes.migrate import migrate
from service.sweeps.tables import SweepCell
from service.upgrade import upgrade_specs
from tests.service.sample_runs import submitted, submitted_result
from tests.service.sweeps.sample_sweeps import posted, stored


def test_a_submitted_result_of_an_older_version_is_on_todays_board(db: Database) -> None:
    known = submitted_result(db)
    outdated = {"spec_version": SPEC_VERSION - 1, "fingerprint": "", "problem": "", "budget": 1, "changes": {"a": 1}}
    with db.transaction() as session:
        session.execute(update(SubmittedResult).values(outdated))
    migrate(db)
    with db.snapshot() as session:
        row = session.scalars(select(SubmittedResult)).one()
    assert (row.spec_version, row.fingerprint) == (SPEC_VERSION, known.fingerprint)
    assert (row.problem, row.budget, row.changes) == (known.problem, known.budget, {})
    assert row.fingerprint == submitted(db).fingerprint, "that of an experiment with its spec"
    assert (row.values, row.provenance) == (known.values, known.provenance)


def test_cells_of_sweeps_follow_their_experiments_to_new_fingerprints(db: Database) -> None:
    stored(db, posted())
    with db.transaction() as session:
        before = session.scalars(select(SweepCell.fingerprint).order_by(SweepCell.number)).all()
        old = "0" * 64
        session.execute(
            update(Experiment).where(Experiment.fingerprint == before[0]).values(fingerprint=old, spec_version=0)
        )
        session.execute(update(SweepCell).where(SweepCell.fingerprint == before[0]).values(fingerprint=old))
    with db.transaction() as session:
        assert has_old_specs(session)
        upgrade_specs(session)
    with db.snapshot() as session:
        assert session.scalars(select(SweepCell.fingerprint).order_by(SweepCell.number)).all() == before
