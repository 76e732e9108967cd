"""The papers at their own size, trained beside all other work: start the job, stop it, keep its ledger.

``python -m benchmarks.standing start`` runs ``normbench up`` at the lowest priority in the background, and with it a
process that writes the ledger: what each process holds in memory, how large the database and the artifacts are, and how
far each run is. ``stop`` gives the runs back with a checkpoint; the next ``start`` goes on from there.

The data directory is that of ``NORMBENCH_DATA_DIR``. The ledger is ``ledger.jsonl`` in it, an event a line.
"""

import argparse
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from normcore.code_version import code_version

EVERY_SECONDS = 600.0  # between two samples
LOOK_SECONDS = 5.0  # in which a new training runs at the usual priority
STOP_SECONDS = 60.0
LEDGER = "ledger.jsonl"
MIB = 2**20


def main() -> int:
    """Read the command line.

    Returns:
        0; 1 if there is nothing to stop.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.standing", description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    start = commands.add_parser("start", help="begin, or go on")
    start.add_argument("--workers", type=int, default=2)
    start.add_argument("--port", type=int, default=8800)
    stop = commands.add_parser("stop", help="give the runs back and end")
    stop.add_argument("--why", required=True, help="for the ledger")
    watch = commands.add_parser("watch", help="write the ledger until the service ends; start begins this, too")
    watch.add_argument("pid", type=int, help="of the service")
    arguments = parser.parse_args()
    folder = Path(os.environ["NORMBENCH_DATA_DIR"])
    if arguments.command == "start":
        _start(folder, arguments.workers, arguments.port)
    elif arguments.command == "stop":
        return _stop(folder, arguments.why)
    else:
        _watch(folder, arguments.pid)
    return 0


def _start(folder: Path, workers: int, port: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-P", "-m", "normbench", "up", "--port", str(port), "--workers", str(workers)]
    with (folder / "up.out").open("ab") as log:
        options: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log, "start_new_session": True}
        service = subprocess.Popen(command, preexec_fn=_at_the_lowest_priority, **options)
        _note(folder, "start", pid=service.pid, commit=code_version().git, workers=workers)
        subprocess.Popen(
            [sys.executable, "-m", "benchmarks.standing", "watch", str(service.pid)],
            preexec_fn=_at_the_lowest_priority,
            **options,
        )


def _at_the_lowest_priority() -> None:
    os.nice(19)
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def _stop(folder: Path, why: str) -> int:
    service = _service(folder)
    if service is None:
        print("no standing job runs", file=sys.stderr)
        return 1
    _note(folder, "stop", why=why, **_sample(folder, service))
    service.send_signal(signal.SIGTERM)
    _, alive = psutil.wait_procs([service], timeout=STOP_SECONDS)
    if alive:
        _note(folder, "still there", seconds=STOP_SECONDS)
    return 0


def _watch(folder: Path, pid: int) -> None:
    """Lower the priority of each new training, and write samples, until the process ``pid`` ends.

    The process is told by its number: for some seconds after ``start`` no file names it.
    """
    due = time.monotonic()
    with suppress(psutil.NoSuchProcess):
        service = psutil.Process(pid)
        while service.is_running() and service.status() != psutil.STATUS_ZOMBIE:
            for process in [service, *service.children(recursive=True)]:
                _give_way(process)
            if time.monotonic() >= due and (folder / "normbench.db").exists():
                _note(folder, "sample", **_sample(folder, service))
                due += EVERY_SECONDS
            time.sleep(LOOK_SECONDS)


def _give_way(process: psutil.Process) -> None:
    """Lower the share of the process's session. Linux divides the processors among sessions first (autogroups), so the
    priority of a process says nothing beside processes of other sessions; each training has a session of its own."""
    with suppress(OSError):
        Path(f"/proc/{process.pid}/autogroup").write_text("19")


def _service(folder: Path) -> psutil.Process | None:
    """The ``normbench up`` of this data directory, if it is alive."""
    try:
        found = psutil.Process(int((folder / "up.pid").read_text()))
    except (FileNotFoundError, psutil.NoSuchProcess):
        return None
    return found if "up" in found.cmdline() else None


def events(folder: Path) -> Iterator[dict[str, Any]]:
    """All that the ledger has, in the order in which it happened."""
    ledger = folder / LEDGER
    if ledger.exists():
        for line in ledger.read_text().splitlines():
            yield json.loads(line)


def _note(folder: Path, event: str, **about: Any) -> None:
    with (folder / LEDGER).open("a") as ledger:
        ledger.write(
            json.dumps({"at": datetime.now(UTC).isoformat(timespec="seconds"), "event": event, **about}) + "\n"
        )


def _sample(folder: Path, service: psutil.Process) -> Mapping[str, Any]:
    """Memory of each process, sizes of what is stored, and how far the runs are."""
    memory: dict[str, list[float]] = {}
    for process in [service, *service.children(recursive=True)]:
        try:
            memory.setdefault(_role(process), []).append(round(process.memory_info().rss / MIB, 1))
        except psutil.NoSuchProcess:
            continue
    database = sum(file.stat().st_size for file in folder.glob("normbench.db*"))
    artifacts = sum(file.stat().st_size for file in (folder / "artifacts").rglob("*") if file.is_file())
    return {
        "memory_mib": memory,
        "database_mib": round(database / MIB, 2),
        "artifacts_mib": round(artifacts / MIB, 2),
        "load": round(os.getloadavg()[0], 2),
        "runs": _runs(folder),
    }


def _role(process: psutil.Process) -> str:
    """Role of a process in the service, by its command."""
    command = " ".join(process.cmdline())
    for word, role in (
        ("forkserver", "fork server or training"),
        ("-m workers", "worker"),
        ("resource_tracker", "tracker"),
    ):
        if word in command:
            return role
    return "service"


def _runs(folder: Path) -> list[list[Any]]:
    """Id, state, attempt, step and losses of each run that has begun."""
    address = f"file:{folder / 'normbench.db'}?mode=ro"
    query = "SELECT id, state, attempt, step, times_lost FROM runs WHERE started_at IS NOT NULL ORDER BY id"
    with closing(sqlite3.connect(address, uri=True, timeout=30)) as database:
        return [list(row) for row in database.execute(query)]


if __name__ == "__main__":
    sys.exit(main())
