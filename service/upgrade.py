"""Upgrade of stored specs to the present version, and of everything that was computed from them."""

import logging
from typing import Any

from pydantic import ValidationError
from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from normcore.spec import ExperimentSpec, TrainingSpec, parse
from normcore.spec.evolution import SPEC_VERSION
from service.experiments.submission import columns_of
from service.experiments.tables import Experiment
from service.leaderboards import entries
from service.leaderboards.submitted_results import storing
from service.leaderboards.submitted_results.tables import SubmittedResult
from service.leaderboards.tables import Entry
from service.old_specs import select_outdated
from service.sweeps.tables import SweepCell

log = logging.getLogger(__name__)


def upgrade_specs(session: Session) -> None:
    """Upgrade the specs of experiments and submitted results that have an older version, and pool again the leaderboard
    entries that this changes.

    A spec that cannot be read, for example because its plug-in is not installed, stays unchanged and is not on the
    boards. The next call tries it again.
    """
    for id, fingerprint, stored in session.execute(select_outdated(Experiment)).all():
        spec = _read(id, stored)
        if spec is None:
            continue
        columns = columns_of(spec)
        session.execute(update(Experiment).where(Experiment.id == id).values(columns))
        of_cells = update(SweepCell).where(SweepCell.fingerprint == fingerprint)
        session.execute(of_cells.values(fingerprint=columns["fingerprint"]))
    for id, _, stored in session.execute(select_outdated(SubmittedResult)).all():
        spec = _read(id, stored)
        if isinstance(spec, TrainingSpec):
            own = SubmittedResult.id == id
            session.execute(update(SubmittedResult).where(own).values(storing.columns_of(spec)))
    known = select(Experiment.fingerprint).where(Experiment.problem.is_not(None))
    session.execute(delete(Entry).where(Entry.fingerprint.not_in(known)))
    entries.refresh_missing(session)


def _read(id: str, stored: dict[str, Any]) -> ExperimentSpec | None:
    try:
        return parse(stored)
    except (ValidationError, ValueError) as error:
        log.warning("%s: its spec cannot be brought to version %d: %s", id, SPEC_VERSION, error)
        return None
