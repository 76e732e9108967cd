"""A run as it happens: server-sent events, resumable wherever a client broke off.

An event's id says what the client has seen: ``attempt-step``, and ``-end`` once the run has ended. A run that was
taken over measures some steps again under its new attempt; those are sent again.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from dataclasses import dataclass

from fastapi.sse import format_sse_event
from sqlalchemy import or_, select
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool

from normcore.spec.training import MAX_STEPS
from service.db import Database
from service.experiments import queries, schemas
from service.experiments.lifecycle import ENDED
from service.experiments.tables import Measurement

POLL_SECONDS = 0.25
PING_SECONDS = 15.0
MAX_ROWS = 5000  # of one look at the measurements
SEEN = re.compile(r"([0-9]{1,9})-([0-9]{1,10})(-end)?")


@dataclass(frozen=True, slots=True)
class Seen:
    """What a client has received: measurements of ``attempt`` up to ``step``, and whether that was all."""

    attempt: int = 0
    step: int = 0
    ended: bool = False

    def __str__(self) -> str:
        return f"{self.attempt}-{self.step}" + ("-end" if self.ended else "")


def parse_seen(last_event_id: str | None) -> Seen:
    """What ``Last-Event-ID`` stands for; anything that is not ours starts from the beginning."""
    match = SEEN.fullmatch(last_event_id or "")
    if match is None or int(match[2]) > MAX_STEPS:
        return Seen()
    return Seen(int(match[1]), int(match[2]), bool(match[3]))


async def events(db: Database, run_id: str, seen: Seen) -> AsyncIterator[bytes]:
    """``state`` events with the run, ``measurement`` events with a step's values; ends with the run."""
    shown: tuple[object, ...] = ()
    silent = 0.0
    while True:
        run, steps = await run_in_threadpool(_look, db, run_id, seen)
        now = (run.state, run.attempt, run.resumed_from_step)
        if now != shown and run.state not in ENDED:
            shown, silent = now, 0.0
            yield _event("state", run.model_dump_json(exclude={"environment"}), seen)
        for attempt, step, seconds, values in steps:
            seen, silent = Seen(attempt, step), 0.0
            yield _event("measurement", json.dumps({"step": step, "seconds": seconds, "values": values}), seen)
        if not steps and run.state in ENDED:
            yield _event("state", run.model_dump_json(exclude={"environment"}), Seen(run.attempt, seen.step, True))
            return
        if not steps:
            await asyncio.sleep(POLL_SECONDS)
            silent += POLL_SECONDS
            if silent >= PING_SECONDS:
                silent = 0.0
                yield format_sse_event(comment="still here")


Step = tuple[int, int, float, dict[str, float]]


def _look(db: Database, run_id: str, seen: Seen) -> tuple[schemas.RunOut, list[Step]]:
    with db.snapshot() as session:
        run = queries.run(session, run_id)
        return run, _measured_since(session, run, seen)


def _measured_since(session: Session, run: schemas.RunOut, seen: Seen) -> list[Step]:
    new = Measurement.step > seen.step
    if run.attempt > seen.attempt:
        new = or_(new, Measurement.attempt > seen.attempt)
    rows = session.execute(
        select(Measurement.attempt, Measurement.step, Measurement.seconds, Measurement.series, Measurement.value)
        .where(Measurement.run_id == run.id, new)
        .order_by(Measurement.step)
        .limit(MAX_ROWS)
    ).all()
    steps: dict[int, Step] = {}
    for attempt, step, seconds, series, value in rows:
        steps.setdefault(step, (attempt, step, seconds, {}))[3][series] = value
    if len(rows) == MAX_ROWS:
        steps.popitem()  # its other series may be beyond the limit
    return list(steps.values())


def _event(kind: str, data: str, seen: Seen) -> bytes:
    return format_sse_event(data_str=data, event=kind, id=str(seen))
