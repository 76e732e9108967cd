"""Storage of what runs measured. Storing the same measurements again changes nothing."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import delete
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from normcore.events import Measured
from service.db import rows_of
from service.experiments.tables import Measurement


def store(session: Session, run_id: str, attempt: int, measured: Sequence[Measured]) -> None:
    """Store measurements: one row for each series at each step."""
    rows = [
        {
            "run_id": run_id,
            "step": m.step,
            "series": series,
            "value": value,
            "seconds": m.seconds,
            "attempt": attempt,
        }
        for m in measured
        for series, value in m.values.items()
    ]
    if rows:
        session.execute(_upsert(session), rows)


def undo(session: Session, run_id: str, *, after: int) -> None:
    """Delete the measurements after a step, because the run resumes from that step."""
    session.execute(delete(Measurement).where(Measurement.run_id == run_id, Measurement.step > after))


def _upsert(session: Session) -> Any:
    """Statement that inserts measurements. A measurement of a later attempt replaces the earlier attempt's measurement
    at the same step.
    """
    dialect = session.get_bind().dialect.name
    statement = (postgresql if dialect == "postgresql" else sqlite).insert(rows_of(Measurement))
    new = statement.excluded
    return statement.on_conflict_do_update(
        index_elements=["run_id", "step", "series"],
        set_={"value": new.value, "seconds": new.seconds, "attempt": new.attempt},
    )
