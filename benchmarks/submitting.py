"""Rate at which eight clients POST experiments, compared with eight clients that create MLflow runs.

Three servers take turns: ours without a worker, MLflow, and ours with a worker. The spec asks for a GPU, which no
worker here has, so nothing trains meanwhile. Otherwise it is handled like any spec: validated, resolved, stored and
committed, and workers are notified.
"""

from collections.abc import Callable
from pathlib import Path

from benchmarks import mlflow, ours
from benchmarks.load import Burst, Request, burst, post
from benchmarks.number import Number, Target, number, percentile

CLIENTS = 8
ROUNDS = 10
BURST_SECONDS = 2.0
SPEC = {
    "task": {"name": "permuted_digits", "profile": "small"},
    "norm": {"method": "recurrent_batch_norm", "gain_init": 0.1},
    "training": {"max_steps": 400},
    "device": "cuda",
}


def measure(scratch: Path) -> list[Number]:
    experiment = post("/v1/experiments", SPEC)
    with (
        ours.api(scratch / "api") as api,
        ours.up(scratch / "up") as up,
        mlflow.server(scratch / "mlflow") as tracking,
    ):
        takers: dict[str, tuple[int, Callable[[], Request]]] = {
            "api": (api, lambda: experiment),
            "up": (up, lambda: experiment),
        }
        if tracking is not None:
            takers["mlflow"] = (tracking, mlflow.create_run)
        for port, request in takers.values():
            burst(port, request, clients=CLIENTS, seconds=BURST_SECONDS)  # not counted, as it fills caches
        bursts: dict[str, list[Burst]] = {"api": [], "up": [], "mlflow": []}
        for turn in range(ROUNDS):
            for name in sorted(takers, reverse=bool(turn % 2)):
                port, request = takers[name]
                bursts[name].append(burst(port, request, clients=CLIENTS, seconds=BURST_SECONDS))
    return [
        *_numbers("submitting", bursts["api"], bursts["mlflow"]),
        *_numbers("submitting, idle worker beside", bursts["up"], bursts["mlflow"]),
    ]


def _numbers(name: str, our: list[Burst], their: list[Burst]) -> list[Number]:
    versus = "MLflow runs/create"
    p50, p99 = percentile(50), percentile(99)
    return [
        number(
            f"{name}: rate",
            "/s",
            [b.rate for b in our],
            versus=versus,
            theirs=[b.rate for b in their],
            target=Target("ratio", "at least", 5),
        ),
        number(
            f"{name}: p50",
            "ms",
            [1000 * p50(b.latencies) for b in our],
            versus=versus,
            theirs=[1000 * p50(b.latencies) for b in their],
        ),
        number(
            f"{name}: p99",
            "ms",
            [1000 * p99(b.latencies) for b in our],
            versus=versus,
            theirs=[1000 * p99(b.latencies) for b in their],
            target=Target("ours", "under", 120),
        ),
    ]
