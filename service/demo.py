"""``normbench demo``: the whole path once, from nothing to a leaderboard."""

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console

from service import display
from service.client import Client, ClientError
from service.settings import Settings

TASK, PROFILE, SEEDS = "permuted_digits", "small", [0, 1, 2]
METHODS = ("none", "layer_norm", "recurrent_batch_norm")
READY_SECONDS = 60.0


def demo(settings: Settings, port: int, console: Console) -> dict[str, Any]:
    """Start the service, train the three methods, show who wins.

    Returns:
        The leaderboard.

    Raises:
        ClientError: the service did not start, or a run failed.
    """
    with _service(settings, port, console) as client:
        submitted = [
            client.submit({"task": {"name": TASK, "profile": PROFILE}, "norm": {"method": method}, "seeds": SEEDS})
            for method in METHODS
        ]
        ended = display.watch(client, [experiment["id"] for experiment in submitted], console)
        failed = [run["error"] for experiment in ended for run in experiment["runs"] if run["state"] != "succeeded"]
        if failed:
            raise ClientError(f"{len(failed)} runs did not succeed: {failed[0]}")
        return client.leaderboard(TASK, profile=PROFILE)


@contextmanager
def _service(settings: Settings, port: int, console: Console) -> Iterator[Client]:
    """A running ``normbench up`` of our own, stopped afterwards."""
    settings.data_dir.mkdir(parents=True, exist_ok=True)
    log = settings.data_dir / "demo.log"
    console.print(f"Starting the service (data in {settings.data_dir}, log in {log.name}) …")
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "service", "up", "--port", str(port)], stdout=output, stderr=output
        )
    client = Client(f"http://127.0.0.1:{port}")
    try:
        deadline = time.monotonic() + READY_SECONDS
        while not client.is_ready():
            if process.poll() is not None or time.monotonic() > deadline:
                raise ClientError(f"the service did not start; {log} says:\n{log.read_text()[-2000:]}")
            time.sleep(0.1)
        yield client
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()
