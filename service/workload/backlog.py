"""Backlog of the queues: their length, and the expected wait of a new run."""

import statistics
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import get_args

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from normcore.spec import ExperimentSpec
from service.db import utc_now
from service.experiments.tables import HAS_SUCCEEDED, Run
from service.experiments.turns import SERVED_TOGETHER, QueuePart, lines_of
from service.workload import queries

DEVICES: tuple[str, ...] = get_args(ExperimentSpec.model_fields["device"].annotation)
NEWEST = 50  # runs that an estimate is based on


_COUNTS = (
    select(Run.queue, Run.needs_fused, Run.state, func.count())
    .where(Run.state.in_(("queued", "running")))
    .group_by(Run.queue, Run.needs_fused, Run.state)
)
_OLDEST = select(Run.queue, func.min(Run.created_at)).where(Run.state == "queued").group_by(Run.queue)


@dataclass(frozen=True, slots=True)
class Backlog:
    """Queue of a device, with its length and expected wait.

    Attributes:
        oldest_seconds: seconds since the oldest queued run was submitted; None if no run is queued.
        workers: number of live workers that take runs from the queue.
        expected_wait_seconds: expected wait of a run that is submitted now; None if no worker takes it, or no run has
            ended yet.
    """

    device: str
    queued: int
    running: int
    oldest_seconds: float | None
    workers: int
    expected_wait_seconds: float | None


def backlogs(session: Session, heartbeat_seconds: float) -> list[Backlog]:
    """Read the backlog of each device that a spec may ask for."""
    counts = {(QueuePart(queue, fused), state): count for queue, fused, state, count in session.execute(_COUNTS)}
    oldest: dict[str, datetime] = dict(session.execute(_OLDEST).all())
    live = queries.read_workers_with_runs(session, heartbeat_seconds)
    workers = Counter(queue for worker, _ in live for queue in worker.queues.split(","))
    taken = {line for worker, _ in live for line in lines_of(worker.queues.split(","), fused=bool(worker.fused))}
    before: Counter[str] = Counter()
    for (line, _), count in counts.items():
        before[line.queue] += count if line in taken else 0
    now = utc_now()
    return [
        Backlog(
            device=device,
            queued=_sum(counts, device, "queued"),
            running=_sum(counts, device, "running"),
            oldest_seconds=(now - oldest[device]).total_seconds() if device in oldest else None,
            workers=workers[device],
            expected_wait_seconds=_wait(session, device, before, workers[device]),
        )
        for device in DEVICES
    ]


def _sum(counts: Mapping[tuple[QueuePart, str], int], device: str, state: str) -> int:
    return sum(counts.get((line, state), 0) for line in lines_of([device], fused=True))


def _wait(session: Session, device: str, before: Mapping[str, int], workers: int) -> float | None:
    """Expected wait of a new run: the time for all earlier runs that a live worker takes, shared by the workers. Each
    run counts with the mean time of the runs that ended last.
    """
    together = {queue for served in SERVED_TOGETHER.values() if device in served for queue in served}
    waiting = sum(before[queue] for queue in together)
    if not workers:
        return None
    if waiting < workers:
        return 0.0
    ended = select(Run.seconds).where(HAS_SUCCEEDED, Run.queue.in_(together))
    lately = session.scalars(ended.order_by(Run.id.desc()).limit(NEWEST)).all()
    return round(statistics.fmean(lately) * (waiting - workers + 1) / workers, 1) if lately else None
