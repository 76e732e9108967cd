"""Submission of experiments, for the API and the pages: a plan without storing, or storing."""

from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool

from normcore.spec import ExperimentSpec, digest
from service.experiments import fused_kernels, planning, schemas, submission, validation
from service.http.dependencies import Parts
from service.queue import Notification


def plan(parts: Parts, written: Any) -> schemas.PlanOut:
    """Plan a spec as a user wrote it: its runs, how long they would take, and how much memory.

    Raises:
        Invalid: fields are wrong, or something that the spec asks for is missing.
    """
    spec = validation.accepted(written, parts.settings.datasets_dir)
    with parts.db.snapshot() as session:
        validation.check_at_hand(session, spec, parts.settings.heartbeat_seconds)
        return planning.plan(session, spec, parts.settings.heartbeat_seconds)


async def submit(parts: Parts, written: Any, idempotency_key: str | None) -> tuple[schemas.ExperimentOut, bool]:
    """Store a spec as a user wrote it, and notify the workers.

    Returns:
        The experiment, and whether it is new. The same key with the same spec returns the first experiment.

    Raises:
        Invalid: fields are wrong, or something that the spec asks for is missing.
        Conflict: the key was used with another spec.
    """
    spec, request_digest = await run_in_threadpool(_accepted, written, parts.settings.datasets_dir)
    experiment, is_new = await _stored(parts, spec, request_digest, idempotency_key)
    if is_new:
        needs_fused = fused_kernels.needed_by(spec)
        parts.notifier.notify(Notification.of(run.id, spec.device, needs_fused=needs_fused) for run in experiment.runs)
    return experiment, is_new


def _accepted(written: Any, datasets_dir: Path | None) -> tuple[ExperimentSpec, str]:
    """Resolve a spec, and digest the request."""
    return validation.accepted(written, datasets_dir), digest(written)


async def _stored(
    parts: Parts, spec: ExperimentSpec, request_digest: str, idempotency_key: str | None
) -> tuple[schemas.ExperimentOut, bool]:
    """Store the experiment. If two requests use one new key at the same time, the later request gets the experiment of
    the earlier request.
    """

    def store(session: Session) -> tuple[schemas.ExperimentOut, bool]:
        return submission.submit(
            session,
            spec,
            request_digest=request_digest,
            idempotency_key=idempotency_key,
            check=partial(validation.check_at_hand, session, spec, parts.settings.heartbeat_seconds),
        )

    try:
        return await parts.group_commit.write(store)
    except IntegrityError:
        if idempotency_key is None:
            raise
        return await parts.group_commit.write(store)
