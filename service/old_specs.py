"""Stored specs of an older version: finds them with few imports. ``service.upgrade`` upgrades them."""

from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from normcore.spec.evolution import SPEC_VERSION
from service.experiments.tables import Experiment
from service.leaderboards.submitted_results.tables import SubmittedResult

SpecTable = type[Experiment] | type[SubmittedResult]


def has_old_specs(session: Session) -> bool:
    """Tell if there are stored specs of an older version."""
    kinds: tuple[SpecTable, ...] = (Experiment, SubmittedResult)
    return any(session.execute(select_outdated(kind).limit(1)).first() is not None for kind in kinds)


def select_outdated(kind: SpecTable) -> Any:
    """Select id, fingerprint and spec of the rows with a spec of an older version."""
    return select(kind.id, kind.fingerprint, kind.spec).where(kind.spec_version < SPEC_VERSION)
