"""MLflow's tracking server on SQLite with one worker process, started as its documentation says."""

import importlib.util
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.load import Connection, Request, get, post
from benchmarks.processes import answers, free_port, running

PYTHON = os.environ.get("BENCH_MLFLOW_PYTHON", sys.executable)  # Python of an environment that has MLflow
CREATE_RUN = "/api/2.0/mlflow/runs/create"
LOG_BATCH = "/api/2.0/mlflow/runs/log-batch"
SEARCH_RUNS = "/api/2.0/mlflow/runs/search"
MAX_BATCH = 1000  # most metrics of one log-batch request
QUIET = {
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",  # it would start five processes that tracking does not need
    "PYTHONWARNINGS": "ignore",
}


def is_installed() -> bool:
    return sys.executable != PYTHON or importlib.util.find_spec("mlflow") is not None


@contextmanager
def server(folder: Path) -> Iterator[int | None]:
    """Run the server while the block runs; give its port, or None if MLflow is not installed."""
    if not is_installed():
        yield None
        return
    folder.mkdir(parents=True, exist_ok=True)
    port = free_port()
    command = [PYTHON, "-m", "mlflow", "server", "--backend-store-uri", f"sqlite:///{folder / 'mlflow.db'}"]
    command += ["--artifacts-destination", str(folder / "artifacts"), "--port", str(port), "--workers", "1"]
    with running(command, folder / "log", is_ready=lambda: answers(port), environment=QUIET):
        connection = Connection(port)
        connection.send(get("/health"))
        connection.close()
        yield port


def create_run() -> Request:
    """Request that creates a run of the default experiment."""
    return post(CREATE_RUN, {"experiment_id": "0", "start_time": int(time.time() * 1000), "run_name": "bench"})


def new_run(connection: Connection) -> str:
    """Create a run; return its id."""
    run_id: str = connection.json(create_run())["run"]["info"]["run_id"]
    return run_id


def log_batch(run_id: str, metrics: list[dict[str, Any]], params: dict[str, str] | None = None) -> Request:
    """Request that logs metrics, at most ``MAX_BATCH`` of them, and params of a run."""
    listed = [{"key": key, "value": value} for key, value in (params or {}).items()]
    return post(LOG_BATCH, {"run_id": run_id, "metrics": metrics, "params": listed})
