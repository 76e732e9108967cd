"""Whatever is killed, no accepted run is lost or counts twice, and a resumed run equals an undisturbed run."""

import signal
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psutil
import psycopg
import pytest
import redis

from benchmarks.faults.observations import Undisturbed
from benchmarks.faults.reference import undisturbed as train
from benchmarks.faults.scenario import Load
from benchmarks.faults.verdict import without_seconds
from tests.processes import Service, service, until
from tests.servers import free_port, postgres_database, private_redis

SEED = 7
SMOKE = {"name": "permuted_digits", "profile": "smoke"}
# By the slower kernel, runs last long enough to be interrupted.
LONG: dict[str, Any] = {"training": {"max_steps": 110, "eval_every": 10, "target": None, "kernel": "reference"}}
DENSE: dict[str, Any] = {"training": {"max_steps": 90, "eval_every": 2, "target": None, "kernel": "reference"}}
HOPELESS: dict[str, Any] = {"training": {"max_steps": 1_000_000, "eval_every": 1_000_000, "target": None}}
ENDLESS: dict[str, Any] = {"training": {"max_steps": 1_000_000, "eval_every": 10, "target": None}}


IMPATIENT = {"checkpoint_seconds": 0.5, "lease_seconds": 3, "heartbeat_seconds": 1, "notify_again_seconds": 1}


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A service with all processes under ``normbench up``. A test that kills it starts it again."""
    with service(tmp_path_factory.mktemp("embedded"), stall_seconds=10, **IMPATIENT) as running:
        running.up()
        yield running


@pytest.fixture(scope="module")
def cluster(postgres_url: str, redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Scheduler and worker (started last) as processes, the API in the test's. A test that ends the worker starts
    another.
    """
    with (
        postgres_database(postgres_url) as database_url,
        service(
            tmp_path_factory.mktemp("cluster"), database_url=database_url, broker_url=redis_url, **IMPATIENT
        ) as running,
    ):
        running.serve()
        running.start("scheduler")
        running.start("worker", "--device", "cpu")
        yield running


def in_peace(method: str, parts: dict[str, Any]) -> Undisturbed:
    """Results of ``python -m normcore``, without a service."""
    load = Load({"task": SMOKE, "norm": {"method": method}, "device": "cpu", **parts}, SEED)
    with TemporaryDirectory() as folder:
        [undisturbed] = train([load], Path(folder))
    return undisturbed


@cache
def long_in_peace() -> Undisturbed:
    return in_peace("recurrent_batch_norm", LONG)


def assert_equal_to_an_undisturbed_run(running: Service, run: dict[str, Any]) -> None:
    """Check that the resumed run equals an undisturbed run, bit for bit."""
    assert rows(running, run) == long_in_peace().rows
    assert without_seconds({**run["result"], "outcome": run["outcome"]}) == long_in_peace().result


def rows(running: Service, run: dict[str, Any]) -> dict[tuple[str, int], float]:
    curves = running.curves(run["id"])
    return {(name, int(step)): value for name, curve in curves.items() for step, value in curve}


def test_a_killed_worker_costs_less_than_20_seconds_and_no_bit(embedded: Service) -> None:
    victim = embedded.submit("recurrent_batch_norm", seeds=(SEED,), **LONG)
    embedded.wait_for_step(victim, 40)
    training = embedded.training_process()
    psutil.Process(embedded.worker_pid()).kill()
    embedded.wait_for(victim, lambda run: run["attempt"] == 2 and run["state"] != "queued", seconds=20)
    psutil.wait_procs([training], timeout=10)
    assert not training.is_running(), "the training does not outlive its worker"

    run = embedded.wait_ended(victim)
    assert (run["state"], run["attempt"]) == ("succeeded", 2)
    assert [entry["attempt"] for entry in run["history"]] == [1]
    assert run["resumed_from_step"] > 0
    assert_equal_to_an_undisturbed_run(embedded, run)


def test_a_killed_training_process_is_tried_again_at_once(embedded: Service) -> None:
    victim = embedded.submit("recurrent_batch_norm", seeds=(SEED,), **LONG)
    embedded.wait_for_step(victim, 40)
    embedded.training_process().kill()
    run = embedded.wait_ended(victim)
    assert (run["state"], run["attempt"]) == ("succeeded", 2)
    assert run["history"][0]["reason"] == "the training process was killed by SIGKILL"
    assert run["resumed_from_step"] > 0
    assert_equal_to_an_undisturbed_run(embedded, run)


def test_a_worker_that_is_told_to_stop_hands_the_run_over(cluster: Service) -> None:
    worker = cluster.running[-1]
    victim = cluster.submit("recurrent_batch_norm", seeds=(SEED,), **LONG)
    cluster.wait_for_step(victim, 40)
    worker.send_signal(signal.SIGTERM)
    assert worker.wait(30) == 0
    waiting = cluster.run_of(victim)
    assert (waiting["state"], waiting["attempt"]) == ("queued", 2), waiting["history"]
    assert cluster.get("/v1/workers")["items"] == []

    cluster.start("worker", "--device", "cpu")
    run = cluster.wait_ended(victim)
    assert (run["state"], run["attempt"]) == ("succeeded", 2)
    assert run["resumed_from_step"] > 0
    assert_equal_to_an_undisturbed_run(cluster, run)


def test_no_run_is_lost_when_all_processes_are_killed(embedded: Service) -> None:
    experiments = [embedded.submit(method, seeds=(0, 1)) for method in ("rms_norm", "weight_norm")]
    embedded.wait_for(experiments[0], lambda run: run["state"] != "queued")
    embedded.kill_all()
    embedded.up()
    for experiment in experiments:
        embedded.wait_succeeded(experiment)
    board = embedded.get("/v1/leaderboards/permuted_digits", profile="smoke")
    n_runs = {e["method"]: e["n_runs"] for e in board["entries"]}
    assert (n_runs["rms_norm"], n_runs["weight_norm"]) == (2, 2)


def test_an_experiment_submitted_while_the_broker_is_away_runs_later(tmp_path: Path, fresh_postgres_url: str) -> None:
    port = free_port()
    with service(tmp_path, database_url=fresh_postgres_url, broker_url=f"redis://127.0.0.1:{port}/0") as running:
        running.serve()
        assert running.http.get("/readyz").status_code == 503
        experiment = running.submit()
        with private_redis(port):
            running.start("scheduler")
            running.start("worker", "--device", "cpu")
            assert running.wait_ended(experiment)["state"] == "succeeded"


def test_messages_that_the_broker_lost_are_sent_again(cluster: Service, redis_url: str) -> None:
    cluster.wait_ended(cluster.submit())
    worker = cluster.running[-1]
    worker.kill()
    worker.wait(10)
    waiting = cluster.submit("none", seeds=(0, 1))
    redis.Redis.from_url(redis_url).flushdb()
    cluster.start("worker", "--device", "cpu")
    cluster.wait_succeeded(waiting)


def test_a_frozen_training_process_is_ended_and_tried_again(embedded: Service) -> None:
    victim = embedded.submit(**ENDLESS)
    embedded.wait_for_step(victim, 10)
    embedded.training_process().send_signal(signal.SIGSTOP)
    run = embedded.wait_for(victim, lambda r: r["state"] == "running" and r["attempt"] >= 2)
    assert run["history"][0]["reason"] == "no progress for 10 s"
    embedded.cancel_all()


def test_a_run_that_is_lost_again_and_again_fails_with_the_reasons(tmp_path: Path) -> None:
    with service(tmp_path, max_attempts=2) as running:
        running.work()
        victim = running.submit(**HOPELESS)  # the run never reaches a checkpoint
        for attempt in (1, 2):
            running.wait_for(victim, partial(trains_in_attempt, attempt=attempt))
            running.training_process().kill()
        run = running.wait_ended(victim)
        assert run["state"] == "failed"
        assert run["error"].startswith(
            "lost 2 times without a new checkpoint: the training process was killed by SIGKILL; "
        )
        assert running.wait_ended(running.submit())["state"] == "succeeded", "the worker goes on"


def test_a_store_that_is_away_makes_the_run_wait_and_the_service_says_so(embedded: Service) -> None:
    victim = embedded.submit("recurrent_batch_norm", seeds=(SEED,), **LONG)
    embedded.wait_for_step(victim, 40)
    folder = artifacts_of(embedded, victim)
    folder.rename(folder.with_name("away"))
    folder.write_text("a file where the run's folder should be")
    run = embedded.wait_for(victim, lambda run: run["state"] == "queued" and run["attempt"] >= 2)
    assert run["history"][0]["reason"].startswith("artifact store: ")
    assert embedded.wait_ended(embedded.submit())["state"] == "succeeded", "others go on"

    folder.unlink()
    folder.with_name("away").rename(folder)
    run = embedded.wait_ended(victim)
    assert (run["state"], run["error"]) == ("succeeded", None)
    assert run["resumed_from_step"] > 0
    assert_equal_to_an_undisturbed_run(embedded, run)


def trains_in_attempt(run: dict[str, Any], attempt: int) -> bool:
    return bool(run["attempt"] == attempt and run["progress"]["step"] > 0)


def runs_since_attempt(run: dict[str, Any], attempt: int) -> bool:
    return bool(run["attempt"] >= attempt and run["state"] == "running")


def new_checkpoints(folder: Path, seen: set[Path]) -> set[Path]:
    return set(folder.glob("*.checkpoint-*")) - seen


def artifacts_of(running: Service, experiment: dict[str, Any]) -> Path:
    return Path(running.environment["NORMBENCH_DATA_DIR"]) / "artifacts" / str(experiment["runs"][0]["id"])


def test_no_measurement_is_lost_if_all_processes_die_at_a_checkpoint(tmp_path: Path) -> None:
    with service(tmp_path, checkpoint_seconds=0.3, flush_seconds=2.0) as running:
        running.up()
        victim = running.submit(seeds=(SEED,), **DENSE)
        for attempt in (1, 2, 3):
            running.wait_for(victim, partial(runs_since_attempt, attempt=attempt))
            folder = artifacts_of(running, victim)
            seen = new_checkpoints(folder, set())
            until(partial(new_checkpoints, folder, seen), 60, running.logs)
            psutil.Process(running.worker_pid()).kill()
        run = running.wait_ended(victim)
        assert (run["state"], run["attempt"]) == ("succeeded", 4)
        peaceful = in_peace("layer_norm", DENSE)
        assert {step for name, step in peaceful.rows if name == "train.loss"} == set(range(2, 91, 2))
        assert rows(running, run) == peaceful.rows


def test_a_torn_checkpoint_costs_time_and_is_reported(embedded: Service) -> None:
    victim = embedded.submit("recurrent_batch_norm", seeds=(SEED,), **LONG)
    embedded.wait_for_step(victim, 40)
    embedded.kill_all()
    newest = max(artifacts_of(embedded, victim).glob("*.checkpoint-*.pt"))
    newest.write_bytes(newest.read_bytes()[:-1])
    embedded.up()
    run = embedded.wait_ended(victim)
    assert run["state"] == "succeeded"
    assert any(newest.name in entry["reason"] for entry in run["history"])
    assert_equal_to_an_undisturbed_run(embedded, run)


def test_a_training_goes_on_while_the_database_is_away(cluster: Service) -> None:
    victim = cluster.submit("recurrent_batch_norm", seeds=(SEED,), **LONG)
    cluster.wait_for_step(victim, 20)
    server, _, name = cluster.environment["NORMBENCH_DATABASE_URL"].replace("+psycopg", "").rpartition("/")
    with psycopg.connect(f"{server}/postgres", autocommit=True) as admin:
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name])
        assert cluster.http.get(f"/v1/experiments/{victim['id']}").status_code == 503
        admin.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS true")
    run = cluster.wait_ended(victim)
    assert (run["state"], run["attempt"]) == ("succeeded", 1)
    assert_equal_to_an_undisturbed_run(cluster, run)
