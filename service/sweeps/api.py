"""Cancel and retry all runs of a sweep together."""

from sqlalchemy import update
from sqlalchemy.orm import Session

from service.db import get_row
from service.experiments import lifecycle
from service.experiments.tables import of_sweep
from service.queue import Notification
from service.sweeps.tables import Sweep


def cancel(session: Session, sweep_id: str) -> None:
    """Cancel a sweep: cancel queued runs at once, ask workers to stop running ones, and give no cell another seed.

    Raises:
        NotFound: no such sweep.
    """
    get_row(session, Sweep, sweep_id, "sweep")
    session.execute(update(Sweep).where(Sweep.id == sweep_id).values(is_settled=True))
    lifecycle.cancel_all(session, of_sweep(sweep_id))


def retry(session: Session, sweep_id: str) -> list[Notification]:
    """Open a new attempt of every failed and cancelled run; an adaptive sweep goes on.

    Raises:
        NotFound: no such sweep.
    """
    is_adaptive: bool = get_row(session, Sweep, sweep_id, "sweep").posted["adaptive"]
    session.execute(update(Sweep).where(Sweep.id == sweep_id).values(is_settled=not is_adaptive))
    return lifecycle.retry_all(session, of_sweep(sweep_id))
