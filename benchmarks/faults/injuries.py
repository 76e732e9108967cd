"""Causes of the faults: one function for each kind. It chooses a victim, and returns the runs hit and the time."""

import random
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import psutil
import psycopg
import redis
from sqlalchemy import make_url

from benchmarks.faults.api import Api
from benchmarks.faults.assessment import recovery
from benchmarks.faults.backends import Backend, Servers, Trainee, kill
from benchmarks.faults.loads import Loader
from benchmarks.faults.observations import ENDED, Injury, Sample, has_trained
from benchmarks.faults.scenario import Fault, Kind
from benchmarks.faults.watch import Watch

VICTIM_SECONDS = 90.0  # for so long a fault waits until a run trains that it can hit
CHECKPOINT_SECONDS = 5.0  # for so long a fault waits for the next checkpoint of a run
RECOVERY_SECONDS = 90.0
QUIET_SECONDS = 15.0  # in which the service overcomes the fault before completely
BURST = 3
LOOK_SECONDS = 0.002


@dataclass(frozen=True, slots=True)
class Scene:
    """Service on which faults act, with its API, watch and loader."""

    backend: Backend
    api: Api
    watch: Watch
    loader: Loader


class NoVictim(Exception):
    """Error: there is no run in training that a fault could hit."""


def inflict(scene: Scene, fault: Fault) -> Injury:
    """Cause a fault that hits a run which trains now.

    Raises:
        NoVictim: no run trained for VICTIM_SECONDS.
    """
    return INFLICT[fault.kind](scene, fault)


def is_over(scene: Scene, injury: Injury) -> bool:
    """Tell if every run that the fault hit trains again, or has ended."""

    def is_settled(hit: Sample) -> bool:
        samples = scene.watch.samples(hit.run_id)
        return samples[-1].state in ENDED or recovery(injury, hit, samples) is not None

    return all(is_settled(hit) for hit in injury.hit)


# -- kills ----------------------------------------------------------------------------------------


def _kill_worker(scene: Scene, fault: Fault) -> Injury:
    victim, hit = _victim(scene)
    return _at_once(fault, lambda: kill(victim.worker), hit, ends_attempt=True)


def _kill_child(scene: Scene, fault: Fault) -> Injury:
    victim, hit = _victim(scene)
    return _at_once(fault, lambda: kill(victim.child), hit, ends_attempt=True)


def _kill_in_quiet(scene: Scene, fault: Fault) -> Injury:
    """Wait some seconds without faults; then kill a worker, or in one of three cases its training process."""
    time.sleep(QUIET_SECONDS)
    return _kill_child(scene, fault) if fault.luck < 1 / 3 else _kill_worker(scene, fault)


def _kill_fork_server(scene: Scene, fault: Fault) -> Injury:
    victim, hit = _victim(scene)
    return _at_once(fault, lambda: kill(victim.fork_server or victim.worker), hit, ends_attempt=False)


def _kill_role(role: str) -> Callable[[Scene, Fault], Injury]:
    def kill_role(scene: Scene, fault: Fault) -> Injury:
        _victim(scene)
        return _at_once(fault, lambda: kill(scene.backend.role(role)), *_training(scene), ends_attempt=False)

    return kill_role


def _kill_tree(scene: Scene, fault: Fault) -> Injury:
    _victim(scene)
    return _at_once(fault, lambda: kill(*scene.backend.family()), *_training(scene), ends_attempt=True)


def _burst(scene: Scene, fault: Fault) -> Injury:
    """Kill three times: each time when the present attempt has written a checkpoint."""
    for turn in range(BURST):
        victim, hit = _victim(scene)
        _await_checkpoint(_folder(scene, victim), victim.child.is_running)
        process = victim.worker if random.Random(fault.luck + turn).random() < 0.5 else victim.child
        injury = _at_once(fault, partial(kill, process), hit, ends_attempt=True)
        if turn < BURST - 1:
            scene.watch.wait_for(partial(is_over, scene, injury), RECOVERY_SECONDS)
    return injury


def _freeze(scene: Scene, fault: Fault) -> Injury:
    """Stop a worker and its processes for longer than the lease, then continue them, like a suspended machine."""
    victim, hit = _victim(scene)
    frozen = [victim.worker, *victim.worker.children(recursive=True)]
    began = time.monotonic()
    _signal(signal.SIGSTOP, *frozen)
    time.sleep(scene.backend.lease_seconds + fault.seconds / 2)
    _signal(signal.SIGCONT, *frozen)
    return Injury(fault.kind, began, time.monotonic(), (hit,), ends_attempt=True)


# -- the stores -----------------------------------------------------------------------------------


def _tear(scene: Scene, fault: Fault) -> Injury:
    """Truncate the newest checkpoint or change one byte of it, then kill the worker or the training process."""
    victim, hit = _victim(scene)
    _await_checkpoint(_folder(scene, victim), victim.child.is_running)
    _signal(signal.SIGSTOP, victim.child)  # or the process would write the next checkpoint meanwhile
    names = _checkpoints(_folder(scene, victim))
    if names:
        _damage(max(names, key=_age), fault.luck)
    process = victim.worker if fault.luck < 0.5 else victim.child
    return _at_once(fault, lambda: kill(process, victim.child), hit, ends_attempt=True)


def _damage(file: Path, luck: float) -> None:
    with suppress(FileNotFoundError), file.open("r+b") as content:
        size = content.seek(0, 2)
        place = int(luck * 997 % 1 * size)
        if luck * 10 % 1 < 0.5:
            content.truncate(place)
            return
        content.seek(place)
        byte = content.read(1)
        content.seek(place)
        content.write(bytes([byte[0] ^ 0xFF]))


def _fill_disk(scene: Scene, fault: Fault) -> Injury:
    _victim(scene)
    disk = scene.backend.artifacts
    return _outage(scene, fault, disk.fill, disk.free)


def _terminate_sessions(scene: Scene, fault: Fault) -> Injury:
    _victim(scene)
    url = make_url(_servers(scene).postgres_url).set(drivername="postgresql").render_as_string(hide_password=False)

    def terminate() -> None:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()")

    return _at_once(fault, terminate, *_training(scene), ends_attempt=False)


def _flush_broker(scene: Scene, fault: Fault) -> Injury:
    _victim(scene)

    def flush() -> None:
        with redis.Redis.from_url(_servers(scene).redis_url) as connection:
            connection.flushdb()

    return _at_once(fault, flush, *_training(scene), ends_attempt=False)


def _black_hole(scene: Scene, fault: Fault) -> Injury:
    _victim(scene)
    relay = _servers(scene).relay
    return _outage(scene, fault, relay.swallow, relay.restore)


# -- users ----------------------------------------------------------------------------------------


def _cancel(scene: Scene, fault: Fault) -> Injury:
    """Cancel a run just before or just after its worker or training process is killed."""
    victim, hit = _victim(scene)
    process = victim.worker if fault.luck < 0.5 else victim.child
    began = time.monotonic()
    if fault.luck * 10 % 1 < 0.5:
        kill(process)
        scene.loader.cancel(victim.run_id)
    else:
        scene.loader.cancel(victim.run_id)
        time.sleep(fault.luck * 0.3)
        kill(process)
    return Injury(fault.kind, began, began, (hit,), ends_attempt=True)


INFLICT: Mapping[Kind, Callable[[Scene, Fault], Injury]] = {
    Kind.WORKER: _kill_worker,
    Kind.CHILD: _kill_child,
    Kind.QUIET: _kill_in_quiet,
    Kind.FORK_SERVER: _kill_fork_server,
    Kind.SERVICE: _kill_role("up"),
    Kind.API: _kill_role("api"),
    Kind.SCHEDULER: _kill_role("scheduler"),
    Kind.TREE: _kill_tree,
    Kind.SESSIONS: _terminate_sessions,
    Kind.FLUSH: _flush_broker,
    Kind.BLACK_HOLE: _black_hole,
    Kind.TORN: _tear,
    Kind.DISK: _fill_disk,
    Kind.BURST: _burst,
    Kind.CANCEL: _cancel,
    Kind.FROZEN: _freeze,
}


# -- shared ---------------------------------------------------------------------------------------


def _at_once(fault: Fault, act: Callable[[], None], *hit: Sample, ends_attempt: bool) -> Injury:
    began = time.monotonic()
    act()
    return Injury(fault.kind, began, began, hit, ends_attempt)


def _outage(scene: Scene, fault: Fault, begin: Callable[[], None], end: Callable[[], None]) -> Injury:
    began = time.monotonic()
    begin()
    try:
        time.sleep(fault.seconds)
        hit = _unfinished(scene)
    finally:
        end()
    return Injury(fault.kind, began, time.monotonic(), hit, ends_attempt=False)


def _victim(scene: Scene) -> tuple[Trainee, Sample]:
    """Wait for a worker that trains; return the worker, and its run as last seen.

    Raises:
        NoVictim: no worker trained for VICTIM_SECONDS.
    """
    found: list[tuple[Trainee, Sample]] = []

    def is_there() -> bool:
        training = {sample.run_id: sample for sample in _training(scene)}
        trainees = scene.backend.trainees(scene.api) if training else []
        found[:] = [(t, training[t.run_id]) for t in trainees if t.run_id in training]
        return bool(found)

    if not scene.watch.wait_for(is_there, VICTIM_SECONDS):
        raise NoVictim
    return found[0]


def _training(scene: Scene) -> tuple[Sample, ...]:
    """Runs that train, have done a step of their attempt, and are not cancelled."""
    return tuple(sample for sample in _unfinished(scene) if has_trained(sample, scene.watch.samples(sample.run_id)))


def _unfinished(scene: Scene) -> tuple[Sample, ...]:
    cancelled = scene.loader.cancelled
    return tuple(s for s in scene.watch.latest() if s.state not in ENDED and s.run_id not in cancelled)


def _servers(scene: Scene) -> Servers:
    assert scene.backend.servers is not None, "only a cluster has servers"
    return scene.backend.servers


def _folder(scene: Scene, victim: Trainee) -> Path:
    return scene.backend.artifacts.folder / victim.run_id


def _checkpoints(folder: Path) -> set[Path]:
    """Complete checkpoints in a folder. The name of a checkpoint that is still being written begins with a dot."""
    return {path for path in folder.glob("*checkpoint*.pt") if not path.name.startswith(".")}


def _await_checkpoint(folder: Path, is_training: Callable[[], bool]) -> None:
    """Wait until a new checkpoint appears, the run stops training, or CHECKPOINT_SECONDS are over."""
    before = _checkpoints(folder)
    deadline = time.monotonic() + CHECKPOINT_SECONDS
    while not _checkpoints(folder) - before and is_training() and time.monotonic() < deadline:
        time.sleep(LOOK_SECONDS)


def _age(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except FileNotFoundError:
        return 0.0


def _signal(number: signal.Signals, *processes: psutil.Process) -> None:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(number)
