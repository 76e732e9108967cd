"""Time of a leaderboard of 1,000 entries over HTTP, with 10,000 and with 100,000 runs, and of MLflow's search.

Experiments and runs are inserted into the tables; ``entries.refresh`` of the service then pools the entries, as at the
end of every run. Each entry has one experiment of ten seeds in the small database, and ten such experiments in the
large one. MLflow holds 780 runs with metrics and params, and returns a page of the 100 best by accuracy. MLflow has no
pooled entries, so a client would have to ask for all runs and pool them.
"""

import random
from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

from sqlalchemy import insert

from benchmarks import mlflow, ours
from benchmarks.load import Connection, Request, get, post
from benchmarks.number import Number, Target, number
from normcore.events import Result, Timing
from normcore.spec import TrainingSpec, resolve
from service.db import Database, utc_now
from service.experiments import certificates
from service.experiments.certificates import Certificate
from service.experiments.submission import columns_of
from service.experiments.tables import Experiment, Run
from service.ids import new_id
from service.leaderboards import entries
from service.processes.startup import prepare
from service.settings import Settings

ENTRIES, SEEDS = 1000, 10
METHODS = ("none", "layer_norm", "recurrent_batch_norm")
SMALL, LARGE = 1, 10  # experiments of each entry in the two databases
MLFLOW_RUNS, MLFLOW_PAGE = 780, 100
ROUNDS = 60
PER_TRANSACTION = 100  # entries that one transaction stores

PROBE = (0.02,) * 9  # seconds of the nine runs of the reference kernel
SPENT = Timing(compile=0.2, data=0.1, warm_up=0.05, training=15.0, evaluation=0.5, windows=(1.0,) * 15, probe=PROBE)
ALONE = Certificate(
    contended=False,
    reason=None,
    machine="here: a processor, 1 thread",
    before=0.02,
    after=0.02,
    quiet=0.02,
    kernel_ratio=1.0,
    windows=14,
    slow_share=0.0,
    moved=False,
)
BOARD = get("/v1/leaderboards/permuted_digits?profile=small")
SEARCH = post(
    mlflow.SEARCH_RUNS, {"experiment_ids": ["0"], "max_results": MLFLOW_PAGE, "order_by": ["metrics.accuracy DESC"]}
)


def measure(scratch: Path) -> list[Number]:
    for name, experiments in (("small", SMALL), ("large", LARGE)):
        fill(on_sqlite(scratch / name), experiments).close()
    with (
        ours.api(scratch / "small") as small,
        ours.api(scratch / "large") as large,
        mlflow.server(scratch / "mlflow") as tracking,
    ):
        asked: dict[str, tuple[Connection, Request]] = {
            "small": (Connection(small), BOARD),
            "large": (Connection(large), BOARD),
        }
        if tracking is not None:
            fill_mlflow(tracking)
            asked["mlflow"] = (Connection(tracking), SEARCH)
        milliseconds: dict[str, list[float]] = {"small": [], "large": [], "mlflow": []}
        for connection, request in asked.values():
            connection.send(request)  # not counted, as it fills caches
        _check(*asked["small"], runs=ENTRIES * SEEDS * SMALL)
        _check(*asked["large"], runs=ENTRIES * SEEDS * LARGE)
        for _ in range(ROUNDS):
            for name, (connection, request) in asked.items():
                milliseconds[name].append(1000 * connection.timed(request))
    return [
        number(
            f"leaderboard: p50, {ENTRIES * SEEDS * SMALL:,} runs",
            "ms",
            milliseconds["small"],
            versus=f"MLflow search, {MLFLOW_PAGE} of {MLFLOW_RUNS} runs",
            theirs=milliseconds["mlflow"],
            target=Target("ours", "under", 30),
        ),
        number(
            f"leaderboard: p50, {ENTRIES * SEEDS * LARGE:,} runs",
            "ms",
            milliseconds["large"],
            versus=f"{ENTRIES * SEEDS * SMALL:,} runs",
            theirs=milliseconds["small"],
            target=Target("ratio", "at most", 3),
        ),
    ]


def on_sqlite(folder: Path) -> Settings:
    """Settings of a service whose data is in ``folder``."""
    return Settings(data_dir=folder, database_url=f"sqlite:///{folder / 'normbench.db'}")


def fill(settings: Settings, experiments: int) -> Database:
    """Make a database with all entries.

    Args:
        experiments: number of experiments of each entry.
    """
    db = prepare(settings)
    draw, specs = random.Random(0), islice(_specs(), ENTRIES)
    while chosen := list(islice(specs, PER_TRANSACTION)):
        _fill_with(db, chosen, experiments, draw)
    return db


def _specs() -> Iterator[TrainingSpec]:
    """Yield different specs without end: every method at one learning rate after the other."""
    k = 0
    while True:
        k += 1
        for method in METHODS:
            spec = resolve(
                {
                    "task": {"name": "permuted_digits", "profile": "small"},
                    "norm": {"method": method},
                    "training": {"optimizer": {"name": "rmsprop", "lr": k * 1e-5}},
                }
            )
            assert isinstance(spec, TrainingSpec)
            yield spec


def _fill_with(db: Database, specs: list[TrainingSpec], experiments: int, draw: random.Random) -> None:
    submitted = [_experiment(spec) for spec in specs for _ in range(experiments)]
    runs = [_run(row["id"], seed, draw) for row in submitted for seed in range(SEEDS)]
    with db.transaction() as session:
        session.execute(insert(Experiment), submitted)
        session.execute(insert(Run), runs)
        for spec in specs:
            entries.refresh(session, spec.fingerprint())


def _experiment(spec: TrainingSpec) -> dict[str, Any]:
    return {"id": new_id("exp"), **columns_of(spec), "request_digest": "", "created_at": utc_now()}


def _run(experiment_id: str, seed: int, draw: random.Random) -> dict[str, Any]:
    """Row of a succeeded run. One run in five does not reach the target."""
    value, reached = draw.uniform(0.6, 0.95), draw.random() < 0.8
    steps = 20.0 * draw.randint(3, 15) if reached else None
    return {
        "id": new_id("run"),
        "experiment_id": experiment_id,
        "seed": seed,
        "queue": "auto",
        "priority": 5,
        "max_steps": 300,
        "state": "succeeded",
        "outcome": "reached_target" if reached else "completed",
        "value": value,
        "step": 300,
        "seconds": 15.0,
        "finished_at": utc_now(),
        "environment": {"host": "here", "cpu": "a processor", "threads": 1},
        "timing": certificates.convert_timing(SPENT, ALONE),
        "result": asdict(result(value, steps)),
        "created_at": utc_now(),
    }


def result(value: float, steps: float | None) -> Result:
    """Result of a training of 300 updates, 20 a second.

    Args:
        value: the test value.
        steps: step at which the training reached the target; None if it did not reach it.
    """
    return Result(
        metric="accuracy",
        values={"accuracy": value},
        value=value,
        valid_value=value,
        no_skill=0.1,
        step=300,
        steps_to_target=steps,
        seconds_to_target=None if steps is None else steps * 0.05,
        steps_below_target=300.0 if steps is None else None,
        seconds_below_target=15.0 if steps is None else None,
        train_seconds=15.0,
    )


def _check(connection: Connection, request: Request, *, runs: int) -> None:
    shown = connection.json(request)["entries"]
    if len(shown) != ENTRIES or sum(entry["n_runs"] for entry in shown) != runs:
        raise RuntimeError(
            f"the board must have {ENTRIES} entries with {runs} runs in all, but has {len(shown)} entries"
        )


def fill_mlflow(port: int) -> None:
    """Create the runs in MLflow that are searched."""
    connection, draw = Connection(port), random.Random(0)
    for k in range(MLFLOW_RUNS):
        run_id = mlflow.new_run(connection)
        metrics = [
            {"key": key, "value": draw.random(), "timestamp": 1, "step": 300}
            for key in ("accuracy", "valid_accuracy", "steps_to_target", "seconds_to_target")
        ]
        params = {"method": METHODS[k % 3], "seed": str(k), "lr": str(k * 1e-5), "hidden_size": "100"}
        connection.send(mlflow.log_batch(run_id, metrics, params))
    connection.close()
