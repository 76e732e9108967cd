"""Submission of experiments, for the API and the pages: a plan without storing, or storing."""

from typing import Any, NamedTuple

from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool

from normcore.footprint import Footprint, footprint
from normcore.spec import ExperimentSpec, digest
from service.errors import Invalid
from service.experiments import fused_kernels, memory, planning, schemas, submission, validation
from service.http.dependencies import AppParts
from service.idempotency import digest_if_possible
from service.queue import Notification


def plan(parts: AppParts, written: Any) -> schemas.PlanOut:
    """Plan a spec as a user wrote it: its runs, how long they would take, and how much memory.

    Raises:
        Invalid: fields are wrong, or something that the spec asks for is missing.
    """
    spec = validation.resolve_and_pin(written, parts.settings.datasets_dir)
    needed = footprint(spec)
    with parts.db.snapshot() as session:
        validation.check_at_hand(session, spec, needed, parts.settings.heartbeat_seconds)
        return planning.plan(session, spec, parts.settings.heartbeat_seconds)


async def submit(parts: AppParts, written: Any, idempotency_key: str | None) -> tuple[schemas.ExperimentOut, bool]:
    """Store a spec as a user wrote it, and notify the workers.

    Returns:
        The experiment, and whether it is new. The same key with the same spec returns the first experiment.

    Raises:
        Invalid: fields are wrong, or something that the spec asks for is missing.
        Conflict: the key was used with another spec.
    """
    if idempotency_key is not None:
        known = await run_in_threadpool(_find_earlier, parts, written, idempotency_key)
        if known is not None:
            return known, False
    accepted = await run_in_threadpool(_resolve_submission, parts, written)
    experiment, is_new = await _store_experiment(parts, accepted, idempotency_key)
    if is_new:
        device, needs_fused = accepted.spec.device, fused_kernels.are_needed_by(accepted.spec)
        parts.notifier.notify(Notification.of(run.id, device, needs_fused=needs_fused) for run in experiment.runs)
    return experiment, is_new


def _find_earlier(parts: AppParts, written: Any, idempotency_key: str) -> schemas.ExperimentOut | None:
    """Find the experiment of an earlier request, whatever has become of the data, workers and code that it needs.

    Raises:
        Conflict: the key was used with another request.
    """
    request_digest = digest_if_possible(written)
    if request_digest is None:
        return None
    with parts.db.snapshot() as session:
        known = submission.find_earlier_experiment(session, request_digest, idempotency_key)
        return None if known is None else schemas.experiment_out(known)


class _ValidSubmission(NamedTuple):
    """A spec that is to be stored, the memory of its runs, and the digest of the request."""

    spec: ExperimentSpec
    needed: Footprint | None
    request_digest: str


def _resolve_submission(parts: AppParts, written: Any) -> _ValidSubmission:
    """Resolve a spec before its transaction, because nobody else can write to SQLite during the transaction."""
    spec = validation.resolve_and_pin(written, parts.settings.datasets_dir)
    return _ValidSubmission(spec, footprint(spec), digest(written))


async def _store_experiment(
    parts: AppParts, accepted: _ValidSubmission, idempotency_key: str | None
) -> tuple[schemas.ExperimentOut, bool]:
    """Check and store the experiment."""
    spec, needed, request_digest = accepted

    def store(session: Session) -> tuple[schemas.ExperimentOut, bool] | Exception:
        if submission.find_earlier_experiment(session, request_digest, idempotency_key) is None:
            try:
                validation.check_at_hand(session, spec, needed, parts.settings.heartbeat_seconds)
            except Invalid as refusal:  # nothing is written yet
                return refusal
        return submission.submit(
            session,
            spec,
            memory_bytes=memory.tensors(needed),
            request_digest=request_digest,
            idempotency_key=idempotency_key,
        )

    return await parts.group_commit.write_once(store, idempotency_key)
