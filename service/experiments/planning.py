"""Plan of an experiment: its cost, estimated from runs on this service."""

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, NamedTuple, cast

from sqlalchemy import Row, select
from sqlalchemy.orm import Session

from normcore.footprint import footprint
from normcore.own_code import code_of, find_last_change, tags_of
from normcore.spec import ExperimentSpec, digest
from service.experiments import codes, fused_kernels, memory, schemas
from service.experiments.certificates import PARTS
from service.experiments.tables import HAS_SUCCEEDED, Experiment, Run
from service.experiments.turns import QueuePart, queue_position
from service.fleet import registration

NEWEST = 50  # runs that an estimate is based on; earlier runs may be of older code


def plan(session: Session, spec: ExperimentSpec, heartbeat_seconds: float) -> schemas.PlanOut:
    """Plan an experiment with ``spec``: its runs, their expected time and their memory."""
    fingerprint, code = spec.fingerprint(), code_of(spec)
    measured = codes.read_reusable_runs(session, spec, fingerprint)
    estimate, needed = Estimates(session).of(spec, fingerprint), footprint(spec)
    fit = memory.beside(session, spec, needed, heartbeat_seconds)
    return schemas.PlanOut(
        spec=spec.model_dump(mode="json"),
        fingerprint=fingerprint,
        runs=len(spec.seeds),
        code=schemas.CodeOut(**code, workers=_with_other_code(session, spec, code["parts"], heartbeat_seconds)),
        measured_seeds=sorted({run.seed for run in measured}.intersection(spec.seeds)),
        seconds_per_run=estimate.seconds,
        total_seconds=None if estimate.seconds is None else round(estimate.seconds * len(spec.seeds), 3),
        total_seconds_range=_times(estimate.range, len(spec.seeds)),
        basis=estimate.basis,
        queue_position=queue_position(
            session, QueuePart(spec.device, fused_kernels.are_needed_by(spec)), spec.priority, memory.tensors(needed)
        ),
        memory_bytes=fit.needed,
        memory=None if needed is None else schemas.MemoryOut(**asdict(needed)),
        worker_memory_bytes=fit.given,
        live_workers=fit.n_workers,
        fitting_workers=fit.n_fitting,
    )


def _with_other_code(
    session: Session, spec: ExperimentSpec, parts: Mapping[str, str | None], heartbeat_seconds: float
) -> list[schemas.OtherCode]:
    """Live workers that might train the spec and have other code for it. A worker that has not looked at its files
    since the API's files were edited is left out, because it may have the same files.
    """
    tags, found, edited_at = tags_of(spec), [], find_last_change(spec)
    for worker in registration.list_live_with_code(session, spec.device, heartbeat_seconds):
        known = worker.code
        if known is None or worker.code_at is None or worker.code_at < edited_at:
            continue
        differing = [name for name, own in parts.items() if known.get(name, {}).get(tags[name]) != own]
        if differing:
            found.append(
                schemas.OtherCode(
                    worker=worker.id, host=worker.host, pid=worker.pid, device=worker.device, parts=differing
                )
            )
    return found


class ExpectedTime(NamedTuple):
    """Expected time of a run. All fields are None if no similar run was measured.

    Attributes:
        seconds: median seconds of the runs that the estimate is based on.
        range: seconds of the fastest and of the slowest of these runs.
    """

    seconds: float | None = None
    range: tuple[float, float] | None = None
    basis: str | None = None

    @classmethod
    def from_runs(cls, seconds: Sequence[float], basis: str) -> "ExpectedTime":
        return cls(round(statistics.median(seconds), 3), (round(min(seconds), 3), round(max(seconds), 3)), basis)


class Estimates:
    """Expected seconds of runs. Specs with the same model and task use the same runs, which are read once."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._alike: dict[str, tuple[Sequence[Row[Any]], str]] = {}

    def of(self, spec: ExperimentSpec, fingerprint: str) -> ExpectedTime:
        """Estimate the seconds of one run from runs of the same spec, or else from runs of the same model on the same
        task.
        """
        same, device = _of_one_device(_read_newest(self._session, spec, Experiment.fingerprint == fingerprint))
        if same:
            basis = f"measured: {_runs(same)} of this spec on {device}"
            return ExpectedTime.from_runs([_all_seconds(run) for run in same], basis)
        task = spec.task
        alike, device = self._of_model(spec)
        if not alike:
            return ExpectedTime()
        kernel = "" if any(map(_is_fused, alike)) else ", by the reference"
        basis = (
            f"measured: {_runs(alike)} of {task.name}, {task.profile}, with this model on {device}{kernel}, by steps"
        )
        return ExpectedTime.from_runs([_all_seconds(run) / run.step * spec.max_steps for run in alike], basis)

    def _of_model(self, spec: ExperimentSpec) -> tuple[Sequence[Row[Any]], str]:
        """Read the runs of the same model on the same task, and the kind of device on which they ran. Fused kernels are
        several times as fast as the reference, so runs by the kernels that the spec would have come first.
        """
        task, model, fused = spec.task, spec.model_dump(mode="json")["model"], fused_kernels.may_train(spec)
        key = digest([task.name, task.profile, spec.device, model, fused])
        if key not in self._alike:
            of_task = (Experiment.task == task.name, Experiment.profile == task.profile, Run.step > 0)
            newest = _read_newest(self._session, spec, *of_task)
            of_model = [run for run in newest if run.spec["model"] == model]
            by_kernel = [run for run in of_model if _is_fused(run) == fused]
            self._alike[key] = _of_one_device(by_kernel or (of_model if fused else []))
        return self._alike[key]


def _read_newest(session: Session, spec: ExperimentSpec, *conditions: Any) -> Sequence[Row[Any]]:
    query = (
        select(Run.device, Run.kernel, Run.seconds, Run.timing, Run.step, Experiment.spec)
        .join(Experiment)
        .where(HAS_SUCCEEDED, *conditions)
        .order_by(Experiment.id.desc(), Run.id.desc())  # an index has this order, so only the newest runs are read
        .limit(NEWEST)
    )
    if spec.device != "auto":
        query = query.where(Run.device.startswith(spec.device))
    return session.execute(query).all()


def _of_one_device(runs: Sequence[Row[Any]]) -> tuple[Sequence[Row[Any]], str]:
    """Choose the runs on the same kind of device as the newest run, because kinds differ very much in speed. Return
    these runs and the kind.
    """
    kinds = [(run.device or "").partition(":")[0] for run in runs]
    return [run for run, kind in zip(runs, kinds, strict=True) if kind == kinds[0]], kinds[0] if kinds else ""


def _is_fused(run: Row[Any]) -> bool:
    """Tell if a run was trained by fused kernels, at least in part."""
    return "fused" in (run.kernel or "")


def _all_seconds(run: Row[Any]) -> float:
    """Seconds of a run: the sum of all parts of a training. For an analysis, or if the parts were not stored, the total
    time.
    """
    return sum(run.timing[part] for part in PARTS) if run.timing else cast(float, run.seconds)


def _times(range: tuple[float, float] | None, runs: int) -> tuple[float, float] | None:
    return None if range is None else (round(range[0] * runs, 3), round(range[1] * runs, 3))


def _runs(runs: Sequence[Row[Any]]) -> str:
    return "1 run" if len(runs) == 1 else f"{len(runs)} runs"
