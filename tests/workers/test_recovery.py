"""Whatever is killed, no accepted run is lost or counts twice, and a resumed run equals an undisturbed run."""

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache, partial
from pathlib import Path
from typing import Any

import psutil
import psycopg
import pytest

from benchmarks.faults.assessment import without_seconds
from benchmarks.faults.observations import UndisturbedTraining
from normcore.data.folders import datasets_dir
from normcore.events import Finished, Measured, to_json
from normcore.run import run as train
from normcore.spec import resolve
from tests.processes import Service, service, until
from tests.servers import NotInstalled, free_port, postgres_database, private_redis

SEED = 7
SMOKE = {"name": "permuted_digits", "profile": "smoke"}
METHOD = "recurrent_batch_norm"
# By the slower kernel, runs last long enough to be interrupted.
LONG: dict[str, Any] = {"training": {"max_steps": 80, "eval_every": 8, "target": None, "kernel": "reference"}}
BRIEF: dict[str, Any] = {"training": {"max_steps": 2, "eval_every": 2, "target": None}}
HOPELESS: dict[str, Any] = {"training": {"max_steps": 1_000_000, "eval_every": 1_000_000, "target": None}}
IMPATIENT = {"heartbeat_seconds": 1, "notify_again_seconds": 1}


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with all processes under ``normbench up``. An attempt writes its only checkpoint right after its first
    measurement, which is in the database later.
    """
    times = {"checkpoint_seconds": 1000, "flush_seconds": 3, "lease_seconds": 6, "stall_seconds": 10}
    with service(tmp_path_factory.mktemp("embedded"), **times, **IMPATIENT) as running:
        running.up()
        yield running


class Broker:
    """A Redis server that tests stop and start again."""

    def __init__(self) -> None:
        self._port, self._running = free_port(), ExitStack()
        self.url = f"redis://127.0.0.1:{self._port}/0"

    def start(self) -> None:
        self._running.enter_context(private_redis(self._port))

    def stop(self) -> None:
        self._running.close()


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    broker = Broker()
    try:
        broker.start()
    except NotInstalled as missing:
        pytest.skip(f"needs a server: Redis ({missing} is not installed)")
    yield broker
    broker.stop()


@pytest.fixture(scope="module")
def cluster(postgres_url: str, broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Scheduler and worker (started last) as processes, the API in the test's. A test that ends the worker starts
    another.
    """
    with (
        postgres_database(postgres_url) as database_url,
        service(
            tmp_path_factory.mktemp("cluster"),
            database_url=database_url,
            broker_url=broker.url,
            max_attempts=2,
            checkpoint_seconds=0.5,
            lease_seconds=3,
            **IMPATIENT,
        ) as running,
    ):
        running.serve()
        running.start("scheduler")
        running.start("worker", "--device", "cpu")
        yield running


@cache
def undisturbed() -> UndisturbedTraining:
    """The run that tests interrupt, trained in this process."""
    spec = resolve({"task": SMOKE, "norm": {"method": METHOD}, **LONG})
    rows: dict[tuple[str, int], float] = {}
    for event in train(spec, SEED, device="cpu", datasets_dir=datasets_dir(os.environ), threads=1):
        if isinstance(event, Measured):
            rows |= {(series, event.step): value for series, value in event.values.items()}
    assert isinstance(event, Finished)
    finished = to_json(event)
    return UndisturbedTraining(rows, without_seconds({**finished["result"], "outcome": finished["outcome"]}))


def assert_equal_to_an_undisturbed_run(running: Service, run: dict[str, Any]) -> None:
    """Check that the resumed run equals an undisturbed run, bit for bit."""
    assert rows(running, run) == undisturbed().rows
    assert without_seconds({**run["result"], "outcome": run["outcome"]}) == undisturbed().result


def rows(running: Service, run: dict[str, Any]) -> dict[tuple[str, int], float]:
    curves = running.curves(run["id"])
    return {(name, int(step)): value for name, curve in curves.items() for step, value in curve}


def artifacts_of(running: Service, experiment: dict[str, Any]) -> Path:
    return Path(running.environment["NORMBENCH_DATA_DIR"]) / "artifacts" / str(experiment["runs"][0]["id"])


def wait_for_checkpoint(running: Service, experiment: dict[str, Any], attempt: int) -> None:
    """Wait until an attempt has written a checkpoint."""
    folder = artifacts_of(running, experiment)
    until(lambda: checkpoints_in(folder, attempt), 60, running.logs)


def checkpoints_in(folder: Path, attempt: int | str = "*") -> set[Path]:
    return set(folder.glob(f"{attempt}.checkpoint-*.pt"))


def test_a_run_that_is_interrupted_again_and_again_loses_nothing(embedded: Service) -> None:
    """Processes are killed right after a checkpoint, before its measurement is in the database."""
    victim = embedded.submit(METHOD, seeds=(SEED,), **LONG)
    folder = artifacts_of(embedded, victim)

    wait_for_checkpoint(embedded, victim, 1)
    embedded.training_process().kill()

    wait_for_checkpoint(embedded, victim, 2)
    training = embedded.training_process()
    psutil.Process(embedded.worker_pid()).kill()
    embedded.wait_for(victim, partial(runs_in_attempt, attempt=3), seconds=20)
    psutil.wait_procs([training], timeout=10)
    assert not training.is_running(), "the training does not outlive its worker"

    wait_for_checkpoint(embedded, victim, 3)
    folder.rename(folder.with_name("away"))
    folder.write_text("a file where the run's folder should be")
    embedded.wait_for(victim, lambda run: run["state"] == "queued" and run["attempt"] >= 4)
    assert embedded.wait_ended(embedded.submit(**BRIEF))["state"] == "succeeded", "others go on"
    older = checkpoints_in(folder.with_name("away"))
    folder.unlink()
    folder.with_name("away").rename(folder)

    until(lambda: checkpoints_in(folder) - older, 60, embedded.logs)
    waiting = [embedded.submit(method, seeds=(0, 1), **BRIEF) for method in ("rms_norm", "weight_norm")]
    embedded.kill_all()
    torn = max(checkpoints_in(folder) - older)
    torn.write_bytes(torn.read_bytes()[:-1])
    embedded.up()

    run = embedded.wait_ended(victim)
    assert (run["state"], run["error"]) == ("succeeded", None)
    assert run["resumed_from_step"] > 0
    reasons = {entry["attempt"]: entry["reason"] for entry in run["history"]}
    assert reasons[1] == "the training process was killed by SIGKILL"
    assert reasons[3].startswith("artifact store: ")
    assert any(torn.name in entry["reason"] for entry in run["history"])
    assert_equal_to_an_undisturbed_run(embedded, run)
    for experiment in waiting:
        embedded.wait_succeeded(experiment)
    board = embedded.get("/v1/leaderboards/permuted_digits", profile="smoke")
    n_runs = {e["method"]: e["n_runs"] for e in board["entries"]}
    assert (n_runs["rms_norm"], n_runs["weight_norm"]) == (2, 2)


def test_a_frozen_training_process_is_ended_and_tried_again(embedded: Service) -> None:
    victim = embedded.submit(**HOPELESS)
    embedded.wait_for_step(victim, 1)
    embedded.training_process().send_signal(signal.SIGSTOP)
    run = embedded.wait_for(victim, lambda r: r["state"] == "running" and r["attempt"] >= 2)
    assert run["history"][0]["reason"] == "no progress for 10 s"
    embedded.cancel_all()


def test_a_worker_that_is_told_to_stop_hands_the_run_over(cluster: Service, broker: Broker) -> None:
    """The broker loses its messages before there is another worker. Then the database is away for a moment, which the
    training does not notice.
    """
    worker = cluster.running[-1]
    victim = cluster.submit(METHOD, seeds=(SEED,), **LONG)
    wait_for_checkpoint(cluster, victim, 1)
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(30) == 0
    handed_over = cluster.run_of(victim)
    assert (handed_over["state"], handed_over["attempt"]) == ("queued", 2), handed_over["history"]
    assert cluster.get("/v1/workers")["items"] == []

    broker.stop()
    broker.start()
    cluster.start("worker", "--device", "cpu")
    wait_for_checkpoint(cluster, victim, 2)
    server, _, name = cluster.environment["NORMBENCH_DATABASE_URL"].replace("+psycopg", "").rpartition("/")
    with psycopg.connect(f"{server}/postgres", autocommit=True) as admin:
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        assert cluster.http.get(f"/v1/experiments/{victim['id']}").status_code == 503
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
    run = cluster.wait_ended(victim)
    assert (run["state"], run["attempt"]) == ("succeeded", 2)
    assert run["resumed_from_step"] > 0
    assert_equal_to_an_undisturbed_run(cluster, run)


def test_an_experiment_submitted_while_the_broker_is_away_runs_later(cluster: Service, broker: Broker) -> None:
    broker.stop()
    assert cluster.http.get("/readyz").status_code == 503
    experiment = cluster.submit(**BRIEF)
    broker.start()
    assert cluster.wait_ended(experiment)["state"] == "succeeded"


def test_a_run_that_is_lost_again_and_again_fails_with_the_reasons(cluster: Service) -> None:
    victim = cluster.submit(**HOPELESS)  # the run never reaches a checkpoint
    for attempt in (1, 2):
        cluster.wait_for(victim, partial(trains_in_attempt, attempt=attempt))
        cluster.training_process().kill()
    run = cluster.wait_ended(victim)
    assert run["state"] == "failed"
    assert run["error"].startswith(
        "lost 2 times without a new checkpoint: the training process was killed by SIGKILL; "
    )
    assert cluster.wait_ended(cluster.submit(**BRIEF))["state"] == "succeeded", "the worker goes on"


def trains_in_attempt(run: dict[str, Any], attempt: int) -> bool:
    return bool(run["attempt"] == attempt and run["progress"]["step"] > 0)


def runs_in_attempt(run: dict[str, Any], attempt: int) -> bool:
    return bool(run["attempt"] == attempt and run["state"] != "queued")
