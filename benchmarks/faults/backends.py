"""Backends: the service on SQLite and on PostgreSQL. A process that ends is started again, as by a supervisor."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
from sqlalchemy import make_url

from benchmarks import ours
from benchmarks.faults.api import Api
from benchmarks.faults.blackhole import Relay, relay
from benchmarks.faults.disk import Absent, SmallDisk, disk
from benchmarks.processes import ROOT, free_port, wait_until
from tests.servers import private_postgres, private_redis

SETTINGS = {"checkpoint_seconds": "0.5", "threads": "1"}  # short, so that faults meet checkpoints
RESTART_SECONDS = 0.2  # at most, until a process that ended is started again
STOP_SECONDS = 60.0
READY_SECONDS = 90.0
BROKEN_LEASE = Path(__file__).parent / "broken_lease"


@dataclass(frozen=True, slots=True)
class Trainee:
    """Worker that trains a run, with the processes that it has started."""

    run_id: str
    worker: psutil.Process
    child: psutil.Process
    fork_server: psutil.Process | None


class Backend:
    """Service made of processes that share one environment. A process that ends is started again.

    Args:
        commands: command lines of the processes, by role. The word ``PORT`` stands for the API's port.
        workers: number of workers, so of runs that train at the same time.
        servers: database and broker of a cluster; None for ``normbench up``.
        break_lease: True lets overtaken attempts write.
    """

    def __init__(
        self,
        name: str,
        folder: Path,
        commands: Mapping[str, list[str]],
        settings: Mapping[str, str],
        *,
        workers: int,
        artifacts: SmallDisk | Absent,
        database_url: str,
        servers: "Servers | None" = None,
        break_lease: bool = False,
    ) -> None:
        self.name, self.folder, self.workers = name, folder, workers
        self.artifacts, self.database_url, self.servers = artifacts, database_url, servers
        self.lease_seconds = float(settings.get("lease_seconds", 15))
        self.port = free_port()
        self._commands = {role: [p.replace("PORT", str(self.port)) for p in c] for role, c in commands.items()}
        self._data_dir = str(folder / "data")
        self._environment = {k: v for k, v in os.environ.items() if not k.startswith("NORMBENCH_")}
        given = {**SETTINGS, **settings, "data_dir": self._data_dir, "artifacts_url": str(artifacts.folder)}
        self._environment |= {f"NORMBENCH_{name.upper()}": value for name, value in given.items()}
        if break_lease:
            self._environment["PYTHONPATH"] = str(BROKEN_LEASE)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._stopping = threading.Event()
        self._supervisor = threading.Thread(target=self._keep_alive, name="supervisor")

    # -- start and stop --------------------------------------------------------------------------

    def start(self) -> None:
        """Start all processes, and wait until the service is ready and all workers have joined.

        Raises:
            RuntimeError: the service was not ready in time.
        """
        self._processes = {role: self._start(role) for role in self._commands}
        self._supervisor.start()
        api = Api(self.port)
        wait_until(lambda: api.is_ready() and len(api.workers()) == self.workers, READY_SECONDS)

    def stop(self) -> None:
        """Terminate all processes, then kill those that are left."""
        self._stopping.set()
        if self._supervisor.ident is not None:
            self._supervisor.join()
        for process in self._processes.values():
            process.terminate()
        deadline = time.monotonic() + STOP_SECONDS
        for process in self._processes.values():
            with suppress(subprocess.TimeoutExpired):
                process.wait(max(0.0, deadline - time.monotonic()))
        while family := self.family():
            kill(*family)

    def logs(self) -> str:
        return "\n".join(f"== {log.name}\n{log.read_text()[-3000:]}" for log in sorted(self.folder.glob("*.log")))

    def _start(self, role: str) -> subprocess.Popen[bytes]:
        with (self.folder / f"{role}.log").open("ab") as log:
            return subprocess.Popen(
                self._commands[role],
                cwd=ROOT,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def _keep_alive(self) -> None:
        while not self._stopping.wait(RESTART_SECONDS):
            for role, process in self._processes.items():
                if process.poll() is not None:
                    self._processes[role] = self._start(role)

    # -- processes to kill -----------------------------------------------------------------------

    def role(self, name: str) -> psutil.Process:
        """Present process of a role, such as ``api``.

        Raises:
            psutil.NoSuchProcess: the process has ended, and is about to be started again.
        """
        return psutil.Process(self._processes[name].pid)

    def family(self) -> list[psutil.Process]:
        """All processes of this service, with any parent: those whose environment has the service's data directory."""
        return [p for p in psutil.process_iter() if _environ(p).get("NORMBENCH_DATA_DIR") == self._data_dir]

    def trainees(self, api: Api) -> list[Trainee]:
        """Workers that train now, and have a training process."""
        found = [self._trainee(worker["pid"], worker["run_id"]) for worker in api.workers() if worker["run_id"]]
        return [trainee for trainee in found if trainee is not None]

    def _trainee(self, pid: int, run_id: str) -> Trainee | None:
        try:
            worker = psutil.Process(pid)
            if _environ(worker).get("NORMBENCH_DATA_DIR") != self._data_dir:
                return None
            below = worker.children(recursive=True)
            child = next((p for p in below if os.getpgid(p.pid) == p.pid), None)
            server = next((p for p in below if "multiprocessing.forkserver" in " ".join(p.cmdline())), None)
        except (psutil.NoSuchProcess, ProcessLookupError):
            return None
        return Trainee(run_id, worker, child, server) if child else None


@dataclass(frozen=True, slots=True)
class Servers:
    """Servers of a cluster. ``postgres_url`` reaches the database directly, not through the relay."""

    postgres_url: str
    redis_url: str
    relay: Relay


@contextmanager
def up(folder: Path, settings: Mapping[str, str], *, break_lease: bool = False) -> Iterator[Backend]:
    """Run ``normbench up`` with one worker, on SQLite."""
    with disk(folder / "artifacts") as artifacts:
        backend = Backend(
            "up",
            folder,
            {"up": ours.command("up", "--port", "PORT", "--device", "cpu")},
            settings,
            workers=1,
            artifacts=artifacts,
            database_url=f"sqlite:///{folder / 'data' / 'normbench.db'}",
            break_lease=break_lease,
        )
        with _running(backend):
            yield backend


@contextmanager
def cluster(folder: Path, settings: Mapping[str, str], *, break_lease: bool = False) -> Iterator[Backend]:
    """Run API, scheduler and two workers as four processes, on a private PostgreSQL and Redis."""
    with private_postgres() as postgres_url, private_redis() as redis_url, disk(folder / "artifacts") as artifacts:
        postgres = make_url(postgres_url)
        assert postgres.port is not None
        with relay(postgres.port) as between:
            relayed = postgres.set(port=between.port).render_as_string(hide_password=False)
            worker = ours.command("worker", "--device", "cpu")
            backend = Backend(
                "cluster",
                folder,
                {
                    "api": ours.command("api", "--port", "PORT"),
                    "scheduler": ours.command("scheduler"),
                    "worker-1": worker,
                    "worker-2": worker,
                },
                {"database_url": relayed, "broker_url": redis_url, **settings},
                workers=2,
                artifacts=artifacts,
                database_url=postgres_url,
                servers=Servers(postgres_url, redis_url, between),
                break_lease=break_lease,
            )
            with _running(backend):
                yield backend


BACKENDS = {"up": up, "cluster": cluster}


def kill(*processes: psutil.Process) -> None:
    """Send SIGKILL to all processes, one right after the other; then wait until all have ended."""
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGKILL)
    psutil.wait_procs(list(processes), timeout=10)


@contextmanager
def _running(backend: Backend) -> Iterator[None]:
    try:
        backend.start()
        yield
    except Exception as error:
        error.add_note(backend.logs())
        raise
    finally:
        backend.stop()


def _environ(process: psutil.Process) -> dict[str, str]:
    """Environment of a process; empty if the process has ended or may not be read."""
    try:
        environ: dict[str, str] = process.environ()
    except (psutil.Error, OSError):
        return {}
    return environ
