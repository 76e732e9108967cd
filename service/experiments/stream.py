"""Server-sent events of runs, which a client can resume from the last event that it received.

The id of an event is a position: the part of each run that the client has received, in the order of the runs' ids.
``1-20`` means attempt 1 up to step 20, ``1-end`` all of attempt 1 and its end, ``0`` nothing, and ``1-end*7`` all of
attempt 1 for seven runs in a row. When a run gets a new attempt, some steps are measured again, and are sent again.
After a retry, a stream that is resumed from its end continues with the new attempt.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from fastapi.sse import format_sse_event
from sqlalchemy import ColumnElement, Row, case, or_, select
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool

from normcore.spec.experiment import MAX_SEEDS
from normcore.spec.training import MAX_STEPS
from service.db import Database
from service.experiments import queries
from service.experiments.lifecycle import ENDED
from service.experiments.tables import Measurement, Run, of_experiment
from service.http.permits import Permit

POLL_SECONDS = 0.25
PING_SECONDS = 15.0
MAX_ROWS = 5000  # rows that are read at once
SEEN = re.compile(r"(?:(0)|([0-9]{1,9})-(end|[0-9]{1,10}))(?:\*([0-9]{1,4}))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class RunPosition:
    """Part of a run that a client has received: measurements of ``attempt`` up to ``step``, and whether the run's end
    was received.
    """

    attempt: int = 0
    step: int = 0
    ended: bool = False

    def __str__(self) -> str:
        return f"{self.attempt}-{'end' if self.ended else self.step}" if self.attempt else "0"


def write_position(seen: Sequence[RunPosition]) -> str:
    """Write a position as the id of an event."""
    counted = ((text, len(list(same))) for text, same in groupby(map(str, seen)))
    return ",".join(f"{text}*{count}" if count > 1 else text for text, count in counted)


def read_position(last_event_id: str | None, runs: int) -> list[RunPosition]:
    """Read the position from the header ``Last-Event-ID``. An id that is not ours means the beginning."""
    seen: list[RunPosition] = []
    for text in (last_event_id or "").split(",", MAX_SEEDS):
        match = SEEN.fullmatch(text)
        if match is None or len(seen) > runs or (match[3] not in (None, "end") and int(match[3]) > MAX_STEPS):
            return [RunPosition()] * runs
        seen += [_parse_seen(match)] * int(match[4] or 1)
    return seen if len(seen) == runs else [RunPosition()] * runs


def _parse_seen(match: re.Match[str]) -> RunPosition:
    if match[1]:
        return RunPosition()
    return (
        RunPosition(int(match[2]), MAX_STEPS, True) if match[3] == "end" else RunPosition(int(match[2]), int(match[3]))
    )


def position_in_experiment(session: Session, experiment_id: str) -> str:
    """Event id after which a stream continues, for a client that has read all stored events of an experiment."""
    return _position(session, of_experiment(experiment_id))


def position_in_run(session: Session, run_id: str) -> str:
    """Event id after which a stream continues, for a client that has read all stored events of a run."""
    return _position(session, Run.id == run_id)


def _position(session: Session, runs: ColumnElement[bool]) -> str:
    reached = queries.read_last_steps(session, runs)
    return write_position([_read(run, reached) for run in _states(session, runs)])


def _read(run: Row[Any], reached: Mapping[str, tuple[int, int]]) -> RunPosition:
    if run.state in ENDED:
        return RunPosition(run.attempt, MAX_STEPS, True)
    return RunPosition(*reached[run.id]) if run.id in reached else RunPosition()


@dataclass
class Stream:
    """Stream of some runs of one experiment to one client.

    Attributes:
        runs: a condition that chooses the runs.
        seen: the part of each run that the client has received, in the order of the runs' ids.
        shown: state, attempt and first step of each run, as last sent to the client.
    """

    runs: ColumnElement[bool]
    seen: list[RunPosition]
    shown: dict[str, Row[Any]] = field(default_factory=dict)

    @classmethod
    def resume(cls, session: Session, runs: ColumnElement[bool], last_event_id: str | None) -> "Stream":
        """Build a stream that continues after the event with this id."""
        return cls(runs, read_position(last_event_id, len(_states(session, runs))))

    def is_over(self, session: Session) -> bool:
        """Tell if all runs have ended and the client has received their ends."""
        states = _states(session, self.runs)
        return all(_is_known(run, seen) for run, seen in zip(states, self.seen, strict=True))

    async def events(self, db: Database, permit: Permit) -> AsyncIterator[bytes]:
        """Yield ``state`` events with a run, and ``measurement`` events with the values of a step. They end when all
        runs have ended, or when the client's key is no longer valid.
        """
        silent = 0.0
        while await permit.holds():
            events, is_over = await run_in_threadpool(self._look, db)
            for event in events:
                if not await permit.holds():  # a slow client takes long to receive what was read at once
                    return
                yield event
            if is_over:
                return
            silent = 0.0 if events else silent + POLL_SECONDS
            if silent >= PING_SECONDS:
                silent = 0.0
                yield format_sse_event(comment="still here")
            if not events:
                await asyncio.sleep(POLL_SECONDS)

    def _look(self, db: Database) -> tuple[list[bytes], bool]:
        """Read new events, and whether all events were sent."""
        events: list[bytes] = []
        is_over = True
        with db.snapshot() as session:
            for place, run in enumerate(_states(session, self.runs)):
                if not _is_known(run, self.seen[place]):
                    events += self._news(session, place, run)
                    is_over = is_over and self.seen[place].ended
                if len(events) >= MAX_ROWS:
                    return events, False
        return events, is_over

    def _news(self, session: Session, place: int, run: Row[Any]) -> list[bytes]:
        """New events of one run. Its end is sent only after all measurements."""
        before, after = self.seen[:place], self.seen[place + 1 :]
        around = [write_position(before), write_position(after)]

        def event(kind: str, data: str) -> bytes:
            position = ",".join(part for part in (around[0], str(self.seen[place]), around[1]) if part)
            return format_sse_event(data_str=data, event=kind, id=position)

        news = []
        if run.state not in ENDED and self.shown.get(run.id) != run:
            self.shown[run.id] = run
            news.append(event("state", _run(session, run.id)))
        steps = _read_steps_since(session, run, self.seen[place])
        for attempt, step, seconds, values in steps:
            self.seen[place] = RunPosition(attempt, step)
            data = {"run_id": run.id, "attempt": attempt, "step": step, "seconds": seconds, "values": values}
            news.append(event("measurement", json.dumps(data)))
        if not steps and run.state in ENDED:
            self.seen[place] = RunPosition(run.attempt, MAX_STEPS, True)
            news.append(event("state", _run(session, run.id)))
        return news


def _states(session: Session, runs: ColumnElement[bool]) -> Sequence[Row[Any]]:
    resumed_from = case((Run.started_attempt == Run.attempt, Run.resumed_from_step))  # as ``RunOut`` has it
    columns = select(Run.id, Run.state, Run.attempt, resumed_from)
    return list(session.execute(columns.where(runs).order_by(Run.id)))


def _is_known(run: Row[Any], seen: RunPosition) -> bool:
    """Tell if the run has ended and the client has received its end."""
    return run.state in ENDED and seen.ended and seen.attempt == run.attempt


def _run(session: Session, run_id: str) -> str:
    return queries.run(session, run_id).model_dump_json(exclude={"environment"})


Step = tuple[int, int, float, dict[str, float]]


def _read_steps_since(session: Session, run: Row[Any], seen: RunPosition) -> list[Step]:
    if run.state == "queued" and run.attempt == 1:
        return []
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
        steps.popitem()  # the limit may have cut off other series of this step
    return list(steps.values())
