"""Submit a sweep, for the API and the pages; cancel and retry all runs of a sweep together."""

from functools import partial
from typing import Any, NamedTuple

from sqlalchemy import update
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool

from normcore.spec import digest
from service.db import get_row
from service.experiments import lifecycle
from service.experiments.tables import of_sweep
from service.http.dependencies import AppParts
from service.http.readers import in_reader
from service.idempotency import digest_if_possible
from service.queue import Notification
from service.sweeps import expansion, planning, schemas, submission
from service.sweeps.expansion import CellSpec
from service.sweeps.spec import WrittenSweep, read
from service.sweeps.submission import StoredSweep
from service.sweeps.tables import Sweep


class _ExpandedSweep(NamedTuple):
    """A valid sweep, its cells, and the digest of the request."""

    written: WrittenSweep
    cells: list[CellSpec]
    request_digest: str


async def plan(parts: AppParts, body: Any) -> schemas.SweepPlan:
    """Plan a sweep as a user wrote it: its cells and runs, and how long they would take.

    Raises:
        Invalid: the sweep is wrong, or something that its cells ask for is missing.
    """
    expanded = await in_reader(_expand, parts, body)
    return await in_reader(_plan, parts, expanded)


async def submit(parts: AppParts, body: Any, idempotency_key: str | None) -> StoredSweep:
    """Store a sweep as a user wrote it, and notify the workers. The same key with the same sweep returns the first
    sweep.

    Raises:
        Invalid: the sweep is wrong, or something that its cells ask for is missing.
        Conflict: the key was used with another sweep.
    """
    if idempotency_key is not None:
        known = await run_in_threadpool(_find_earlier, parts, body, idempotency_key)
        if known is not None:
            return StoredSweep(known, is_new=False)
    expanded = await in_reader(_expand, parts, body)
    await in_reader(_check, parts, expanded)
    store = partial(
        submission.submit,
        written=expanded.written,
        cells=expanded.cells,
        request_digest=expanded.request_digest,
        idempotency_key=idempotency_key,
    )
    submitted = await parts.group_commit.write_once(store, idempotency_key)
    parts.notifier.notify(submitted.notifications)
    return submitted


def _find_earlier(parts: AppParts, body: Any, idempotency_key: str) -> str | None:
    """Find the id of the sweep of an earlier request, whatever has become of the data, workers and code that it needs.

    Raises:
        Conflict: the key was used with another request.
    """
    request_digest = digest_if_possible(body)
    if request_digest is None:
        return None
    with parts.db.snapshot() as session:
        known = submission.find_earlier_sweep(session, request_digest, idempotency_key)
        return None if known is None else known.id


def _expand(parts: AppParts, body: Any) -> _ExpandedSweep:
    """Read the sweep, make its cells, and compute the digest of the request."""
    written = read(body)
    return _ExpandedSweep(written, expansion.cells(written, parts.settings.datasets_dir), digest(body))


def _plan(parts: AppParts, expanded: _ExpandedSweep) -> schemas.SweepPlan:
    with parts.db.snapshot() as session:
        expansion.check_at_hand(session, expanded.written, expanded.cells, parts.settings.heartbeat_seconds)
        return planning.plan(session, expanded.written, expanded.cells, parts.settings.heartbeat_seconds)


def _check(parts: AppParts, expanded: _ExpandedSweep) -> None:
    """Check a new sweep before its transaction, because nobody else can write to SQLite during the transaction."""
    with parts.db.snapshot() as session:
        expansion.check_at_hand(session, expanded.written, expanded.cells, parts.settings.heartbeat_seconds)


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
