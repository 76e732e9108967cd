"""Repeated notification of workers about runs whose first notification seems lost."""

from collections.abc import Mapping

from sqlalchemy import and_, false, select, true, update
from sqlalchemy.orm import Session

from service.db import epoch_now
from service.experiments.tables import Run
from service.experiments.turns import ORDER, READY
from service.queue import FUSED, Notification


def notify_again(session: Session, *, idle: Mapping[str, int], after_seconds: float) -> list[Notification]:
    """Notify workers again of queued runs whose message seems lost, because workers are idle and the message was sent
    long ago.

    Args:
        idle: number of idle workers that listen to each queue. At most this many runs of a queue are notified again.
        after_seconds: least time since the last message about a run was sent.
    """
    notifications = []
    for queue, workers in idle.items():
        long_ago = Run.notified_at < epoch_now() - after_seconds
        of_device = and_(Run.queue == queue, Run.needs_fused == false())
        told = Run.needs_fused == true() if queue == FUSED else of_device
        waiting = session.scalars(
            select(Run.id)
            .where(told, long_ago, *READY)
            .order_by(*ORDER)
            .limit(workers)
            .with_for_update(skip_locked=True)
        ).all()
        session.execute(
            update(Run)
            .where(Run.id.in_(waiting))
            .values(notified_at=epoch_now())
            .execution_options(synchronize_session=False)
        )
        notifications += [Notification(run_id, queue) for run_id in waiting]
    return notifications
