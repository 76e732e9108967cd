"""Bring stored specs to this version of the vocabulary, and what was computed from them with it."""

import logging
from typing import Any

from pydantic import ValidationError
from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from normcore.spec import ExperimentSpec, parse
from normcore.spec.evolution import SPEC_VERSION
from service.experiments.submission import columns_of
from service.experiments.tables import Experiment
from service.leaderboards import entries
from service.leaderboards.tables import Entry
from service.sweeps.tables import SweepCell

log = logging.getLogger(__name__)


def upgrade_specs(session: Session) -> None:
    """Rewrite experiments whose spec is of an older version, and pool the entries anew that this moves.

    One that cannot be read, as of a plug-in that is not installed, stays as it is and off the boards; the next call
    tries it again.
    """
    for id, fingerprint, stored in session.execute(_outdated()).all():
        spec = _read(id, stored)
        if spec is None:
            continue
        columns = columns_of(spec)
        session.execute(update(Experiment).where(Experiment.id == id).values(columns))
        of_cells = update(SweepCell).where(SweepCell.fingerprint == fingerprint)
        session.execute(of_cells.values(fingerprint=columns["fingerprint"]))
    known = select(Experiment.fingerprint).where(Experiment.problem.is_not(None))
    session.execute(delete(Entry).where(Entry.fingerprint.not_in(known)))
    entries.refresh_missing(session)


def has_old_specs(session: Session) -> bool:
    """Whether there is something to upgrade."""
    return session.execute(_outdated().limit(1)).first() is not None


def _outdated() -> Any:
    return select(Experiment.id, Experiment.fingerprint, Experiment.spec).where(Experiment.spec_version < SPEC_VERSION)


def _read(id: str, stored: dict[str, Any]) -> ExperimentSpec | None:
    try:
        return parse(stored)
    except (ValidationError, ValueError) as error:
        log.warning("%s: its spec cannot be brought to version %d: %s", id, SPEC_VERSION, error)
        return None
