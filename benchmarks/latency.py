"""Latency from POST to the first step on an idle machine, and time in the queue with and without Redis.

*First step* is what a client sees: from sending the POST until ``GET /v1/runs/{id}``, asked every 15 ms, shows one step
or more. It includes the answer, the notification, the claim, the fork, the data, the model and the first step. It also
includes the worker's flush (up to 0.25 s after the claim) and the answer that shows the step.

*Queue* is ``started_at - created_at``: from just before the commit until the claim.

The embedded service and the cluster take turns; each is idle while the other trains. Pauses of random length prevent a
rhythm that fits the polling of a process.
"""

import os
import random
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from benchmarks import ours
from benchmarks.load import Connection, get
from benchmarks.number import Number, Target, number, percentile
from benchmarks.processes import answers, free_port, running

SUBMISSIONS = 20
LOOK_SECONDS = 0.015
PAUSE_SECONDS = (0.2, 0.7)  # least and most, after a run has ended
SHARED_REDIS = os.environ.get("BENCH_REDIS_URL", "redis://127.0.0.1:6379/9")  # if redis-server is not installed


@dataclass(frozen=True, slots=True)
class SubmissionTimes:
    """Times of one submission in milliseconds: until its first step showed, and in the queue."""

    first_step: float
    queue: float


def measure(scratch: Path) -> list[Number]:
    pause = random.Random(0)
    with (
        ours.up(scratch / "up") as up,
        _redis(scratch) as broker,
        ours.cluster(scratch / "cluster", broker) as cluster,
    ):
        ports = {"up": up, "redis": cluster}
        seen: dict[str, list[SubmissionTimes]] = {name: [] for name in ports}
        for turn in range(SUBMISSIONS):
            for name in sorted(ports, reverse=bool(turn % 2)):
                time.sleep(pause.uniform(*PAUSE_SECONDS))
                seen[name].append(submit(ports[name]))
    embedded, redis = seen["up"], seen["redis"]
    p95 = percentile(95)
    first = Target("ours", "under", 250)
    return [
        number("latency: first step, p50", "ms", [s.first_step for s in embedded]),
        number("latency: first step, p95", "ms", [s.first_step for s in embedded], statistic=p95, target=first),
        number(
            "latency: queue on Redis, p95",
            "ms",
            [s.queue for s in redis],
            versus="queue of `up`, p95",
            theirs=[s.queue for s in embedded],
            statistic=p95,
            target=Target("ours", "under", 500),
        ),
        number(
            "latency: first step on Redis, p95",
            "ms",
            [s.first_step for s in redis],
            versus="first step of `up`, p95",
            theirs=[s.first_step for s in embedded],
            statistic=p95,
        ),
    ]


def submit(port: int) -> SubmissionTimes:
    """Submit a smoke run and wait for its end."""
    connection = Connection(port)
    began = time.perf_counter()
    [run] = connection.json(ours.SMOKE)["runs"]
    while run["progress"]["step"] == 0 and run["state"] not in ours.ENDED:
        time.sleep(LOOK_SECONDS)
        run = connection.json(get(f"/v1/runs/{run['id']}"))
    first_step = time.perf_counter() - began
    connection.close()
    run = ours.finish(port, run["id"])
    waited = datetime.fromisoformat(run["started_at"]) - datetime.fromisoformat(run["created_at"])
    return SubmissionTimes(1000 * first_step, 1000 * waited.total_seconds())


@contextmanager
def _redis(scratch: Path) -> Iterator[str]:
    """Start a Redis server and give its URL; the URL of a shared one if ``redis-server`` is not installed."""
    program = shutil.which("redis-server")
    if program is None:
        yield SHARED_REDIS
        return
    port = free_port()
    command = [program, "--bind", "127.0.0.1", "--port", str(port), "--save", "", "--dir", str(scratch)]
    with running(command, scratch / "redis.log", is_ready=lambda: answers(port)):
        yield f"redis://127.0.0.1:{port}/0"
