"""Background job that trains the papers' own sizes beside other work: start it, stop it, and keep a ledger.

``python -m benchmarks.background_job start`` runs ``normbench up`` in the background at the lowest priority. A second
process writes the ledger: the memory of each process, the sizes of the database and the artifacts, and the progress of
each run. ``stop`` gives the runs back with a checkpoint. The next ``start`` goes on from there.

``NORMBENCH_DATA_DIR`` is the data directory. The ledger is the file ``ledger.jsonl`` in it, one event in each line.
"""

import argparse
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil

from normcore.code_version import code_version

EVERY_SECONDS = 600.0  # between two samples of the ledger
LOOK_SECONDS = 5.0  # for so long a new training may run at the usual priority
STOP_SECONDS = 60.0
LEDGER = "ledger.jsonl"
MIB = 2**20


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Returns:
        The exit code: 1 if there is no job to stop, else 0.
    """
    parser = argparse.ArgumentParser(prog="python -m benchmarks.background_job", description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    start = commands.add_parser("start", help="begin, or go on")
    start.add_argument("--workers", type=int, default=2)
    start.add_argument("--port", type=int, default=8800)
    stop = commands.add_parser("stop", help="give the runs back and end")
    stop.add_argument("--why", required=True, help="for the ledger")
    watch = commands.add_parser("watch", help="write the ledger until the service ends; start begins this, too")
    watch.add_argument("pid", type=int, help="of the service")
    options = parser.parse_args(arguments)
    folder = Path(os.environ["NORMBENCH_DATA_DIR"])
    if options.command == "start":
        _start(folder, options.workers, options.port)
    elif options.command == "stop":
        return _stop(folder, options.why)
    else:
        _watch(folder, options.pid)
    return 0


def _start(folder: Path, workers: int, port: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-P", "-m", "normbench", "up", "--port", str(port), "--workers", str(workers)]
    with (folder / "up.out").open("ab") as log:
        options: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log, "start_new_session": True}
        service = subprocess.Popen(command, preexec_fn=_at_the_lowest_priority, **options)
        _note(folder, "start", pid=service.pid, commit=code_version().git, workers=workers)
        subprocess.Popen(
            [sys.executable, "-m", "benchmarks.background_job", "watch", str(service.pid)],
            preexec_fn=_at_the_lowest_priority,
            **options,
        )


def _at_the_lowest_priority() -> None:
    os.nice(19)
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def _stop(folder: Path, why: str) -> int:
    service = _service(folder)
    if service is None:
        print("no background job runs", file=sys.stderr)
        return 1
    _note(folder, "stop", why=why, **_sample(folder, service))
    service.send_signal(signal.SIGTERM)
    _, alive = psutil.wait_procs([service], timeout=STOP_SECONDS)
    if alive:
        _note(folder, "still there", seconds=STOP_SECONDS)
    return 0


def _watch(folder: Path, pid: int) -> None:
    """Lower the priority of each new training, and write samples, until the process ``pid`` ends.

    The process is named by its number, as no file names it in the first seconds after ``start``.
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
    """Lower the processor share of a process's session.

    Linux first divides the processors among sessions (autogroups), so the priority of a process does not count against
    processes of other sessions. Each training has its own session.
    """
    with suppress(OSError):
        Path(f"/proc/{process.pid}/autogroup").write_text("19")


def _service(folder: Path) -> psutil.Process | None:
    """Process of ``normbench up`` that uses this data directory; None if there is none alive."""
    try:
        found = psutil.Process(int((folder / "up.pid").read_text()))
    except (FileNotFoundError, psutil.NoSuchProcess):
        return None
    return found if "up" in found.cmdline() else None


def events(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the events of the ledger, oldest first."""
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
    """Sample for the ledger: memory of each process, sizes of database and artifacts, and progress of the runs."""
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
    """Role of a process in the service, read from its command line."""
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
    """Id, state, attempt, step, and number of times it was lost, for each run that has begun."""
    address = f"file:{folder / 'normbench.db'}?mode=ro"
    query = "SELECT id, state, attempt, step, times_lost FROM runs WHERE started_at IS NOT NULL ORDER BY id"
    with closing(sqlite3.connect(address, uri=True, timeout=30)) as database:
        return [list(row) for row in database.execute(query)]


if __name__ == "__main__":
    sys.exit(main())
