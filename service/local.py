"""``normbench up``: API, scheduler and workers on one machine, with no server beside them."""

import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable

from service.scheduler import run_scheduler
from service.serve import serve_on
from service.settings import Settings
from service.startup import keys_needed, listen, prepare

log = logging.getLogger(__name__)

RESTART_SECONDS = (0.2, 1.0, 5.0, 15.0)  # before a worker that died is started again, longer each time
STABLE_SECONDS = 60.0  # a worker that lived so long starts over at the shortest wait
STOP_SECONDS = 40.0  # for workers to write their checkpoints; they enforce a shorter one themselves


def up(settings: Settings, host: str, port: int, workers: int, device: str | None, ready: Callable[[], None]) -> None:
    """Run everything until SIGTERM or SIGINT.

    Args:
        workers: runs that train at the same time; each keeps one core busy.
        device: ``cpu``, ``cuda:0``, …; None lets each worker choose.
        ready: called once the address is ours.

    Raises:
        StartupError: see ``service.startup``.
    """
    db = prepare(settings)
    require_keys = keys_needed(db, host)
    listening = listen(host, port)
    ready()
    stop = threading.Event()
    threads = [threading.Thread(target=run_scheduler, args=(db, settings, stop), name="scheduler")]
    threads += [
        threading.Thread(target=keep_worker, args=(settings, device, stop), name=f"worker-{k}") for k in range(workers)
    ]
    for thread in threads:
        thread.start()
    try:
        serve_on(listening, settings, require_keys=require_keys)
    finally:
        stop.set()
        for thread in threads:
            thread.join()
        db.close()


def keep_worker(settings: Settings, device: str | None, stop: threading.Event) -> None:
    """Keep one worker process alive until ``stop`` is set, then end it."""
    failures = 0
    while not stop.is_set():
        began = time.monotonic()
        process = _start_worker(settings, device)
        while process.poll() is None and not stop.wait(0.1):
            pass
        if stop.is_set():
            _end(process)
            return
        failures = 0 if time.monotonic() - began > STABLE_SECONDS else failures
        wait = RESTART_SECONDS[min(failures, len(RESTART_SECONDS) - 1)]
        failures += 1
        log.warning("a worker ended with status %s; starting another in %s s", process.returncode, wait)
        stop.wait(wait)


def _start_worker(settings: Settings, device: str | None) -> subprocess.Popen[bytes]:
    """A worker that we alone stop: Ctrl-C does not reach it, and it ends with its standard input, a pipe of ours."""
    environment = {**os.environ, **_as_environment(settings)}
    command = [sys.executable, "-m", "workers", "--until-stdin-closes"]
    command += ["--device", device] if device else []
    return subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, start_new_session=True)


def _as_environment(settings: Settings) -> dict[str, str]:
    return {f"NORMBENCH_{name.upper()}": str(value) for name, value in settings.model_dump().items()}


def _end(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
