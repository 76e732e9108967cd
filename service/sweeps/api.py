"""Cancel and retry all runs of a sweep together."""

from sqlalchemy import update
from sqlalchemy.orm import Session

from service.errors import NotFound
from service.experiments import lifecycle
from service.experiments.tables import of_sweep
from service.queue import Notification
from service.sweeps.tables import Sweep


def cancel(session: Session, sweep_id: str) -> None:
    """Cancel a sweep: cancel queued runs at once, ask workers to stop running ones, and give no cell another seed.

    Raises:
        NotFound: no such sweep.
    """
    _read_sweep(session, sweep_id)
    session.execute(update(Sweep).where(Sweep.id == sweep_id).values(is_settled=True))
    lifecycle.cancel_all(session, of_sweep(sweep_id))


def retry(session: Session, sweep_id: str) -> list[Notification]:
    """Open a new attempt of every failed and cancelled run; an adaptive sweep goes on.

    Raises:
        NotFound: no such sweep.
    """
    is_adaptive: bool = _read_sweep(session, sweep_id).posted["adaptive"]
    session.execute(update(Sweep).where(Sweep.id == sweep_id).values(is_settled=not is_adaptive))
    return lifecycle.retry_all(session, of_sweep(sweep_id))


def _read_sweep(session: Session, sweep_id: str) -> Sweep:
    """Read a sweep.

    Raises:
        NotFound: there is no such sweep.
    """
    found = session.get(Sweep, sweep_id)
    if found is None:
        raise NotFound(f"no sweep {sweep_id!r}")
    return found
