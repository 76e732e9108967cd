"""Faults on one backend: cause the faults of a plan, let all runs end, and collect the observations."""

import sys
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from sqlalchemy import column, create_engine, select, table

from benchmarks.faults.api import Api
from benchmarks.faults.backends import BACKENDS, Backend
from benchmarks.faults.injuries import RECOVERY_SECONDS, NoVictim, Scene, inflict, is_over
from benchmarks.faults.loads import AcceptedRun, Loader, loading
from benchmarks.faults.observations import BackendObservations, Injury, Rows, RunSeen, UndisturbedTraining
from benchmarks.faults.scenario import Fault, Size, plan
from benchmarks.faults.watch import Watch, watching

DRAIN_SECONDS = 240.0  # in which the last runs must end after the last fault
AFTERMATH_SECONDS = 3.0  # in which an attempt that was overtaken may try to write
MEASUREMENTS = table("measurements", column("run_id"), column("step"), column("attempt"))


def storm(
    name: str,
    size: Size,
    references: Sequence[UndisturbedTraining],
    folder: Path,
    *,
    seed: int,
    break_lease: bool = False,
) -> BackendObservations:
    """Cause the faults of ``size`` on one backend; return all observations.

    Args:
        name: name of the backend.
        references: the same trainings without faults.
        seed: seed of the plan of faults.
        break_lease: True lets overtaken attempts write.
    """
    folder.mkdir(parents=True)
    with BACKENDS[name](folder, size.settings, break_lease=break_lease) as backend, watching(backend.port) as watch:
        with loading(backend.port, size.loads, watch, backend.workers) as loader:
            scene = Scene(backend, Api(backend.port), watch, loader)
            injuries = _inflict(scene, plan(size.faults[name], seed), size.seconds)
        watch.wait_for(lambda: not watch.unfinished(), DRAIN_SECONDS)
        return BackendObservations(
            backend=name,
            runs=_collect(backend, loader, watch),
            injuries=injuries,
            undisturbed=references,
            known=len(Api(backend.port).experiment_ids()),
            outage=backend.artifacts.trouble,
        )


def _inflict(scene: Scene, faults: Sequence[Fault], seconds: float) -> list[Injury]:
    """Cause one fault after the other, each when the one before is overcome. Stop after ``seconds``."""
    deadline, injuries = time.monotonic() + seconds, []
    for number, fault in enumerate(faults, 1):
        if time.monotonic() > deadline:
            _say(f"{len(faults) - number + 1} faults left out: time is up")
            break
        time.sleep(fault.pause)
        try:
            injury = inflict(scene, fault)
        except NoVictim:
            _say(f"{number}: nothing trains; the rest of the faults is left out")
            break
        injuries.append(injury)
        is_overcome = scene.watch.wait_for(partial(is_over, scene, injury), RECOVERY_SECONDS)
        _say(
            f"{scene.backend.name} {number}/{len(faults)}: {fault.kind}, "
            + (f"{time.monotonic() - injury.ended:.1f} s" if is_overcome else f"not over in {RECOVERY_SECONDS:g} s")
        )
    return injuries


def _collect(backend: Backend, loader: Loader, watch: Watch) -> list[RunSeen]:
    api = Api(backend.port)
    finals = {a.run_id: api.get(f"/v1/runs/{a.run_id}") for a in loader.accepted}
    rows = {a.run_id: _rows(api, a) for a in loader.accepted}
    time.sleep(AFTERMATH_SECONDS)
    attempts = _attempts(backend)
    return [
        RunSeen(
            run_id=a.run_id,
            training=a.training,
            samples=watch.samples(a.run_id),
            final=finals[a.run_id],
            later=api.get(f"/v1/runs/{a.run_id}"),
            rows=rows[a.run_id],
            attempts=attempts.get(a.run_id, {}),
            cancelled_at=loader.cancelled.get(a.run_id),
        )
        for a in loader.accepted
    ]


def _rows(api: Api, accepted: AcceptedRun) -> Rows:
    answer = api.get(f"/v1/runs/{accepted.run_id}/measurements") or {"series": {}}
    return {(name, step): value for name, curve in answer["series"].items() for step, value, _ in curve["points"]}


def _attempts(backend: Backend) -> dict[str, dict[int, frozenset[int]]]:
    """Attempts that wrote measurements, by run and step, from the database. HTTP does not tell them for every row."""
    found: dict[str, dict[int, frozenset[int]]] = {}
    engine = create_engine(backend.database_url)
    with engine.connect() as connection:
        for run_id, step, attempt in connection.execute(select(MEASUREMENTS)):
            of_run = found.setdefault(run_id, {})
            of_run[step] = of_run.get(step, frozenset()) | {attempt}
    engine.dispose()
    return found


def _say(text: str) -> None:
    print(f"faults: {text}", file=sys.stderr, flush=True)
