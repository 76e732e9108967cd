"""Stored specs of an earlier version, and what names them by their fingerprints."""

from sqlalchemy import select, update

from service.db import Database
from service.experiments.tables import Experiment
from service.sweeps.tables import SweepCell
from service.upgrade import has_old_specs, upgrade_specs
from tests.service.sweeps.given import posted, stored


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
