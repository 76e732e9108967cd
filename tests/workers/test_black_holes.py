"""Servers that fall silent: connections stay open and no bytes arrive. Work goes on when the servers are back, and a
process that is told to stop meanwhile stops.
"""

import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from sqlalchemy import create_engine, make_url, select

from service.db import epoch_now
from service.experiments.tables import Run
from tests.processes import Service, service, until
from tests.proxies import Proxy, proxy_to

ENDLESS: dict[str, Any] = {"training": {"max_steps": 1_000_000, "eval_every": 10, "target": None}}
BRIEF: dict[str, Any] = {"training": {"max_steps": 2, "eval_every": 2, "target": None}}
BACK_SECONDS = 30.0
SETTINGS = {"checkpoint_seconds": 0.5, "lease_seconds": 2, "heartbeat_seconds": 0.5, "database_call_seconds": 1}


@pytest.fixture
def database_proxy(fresh_postgres_url: str) -> Iterator[Proxy]:
    with proxy_to(make_url(fresh_postgres_url).port or 0) as proxy:
        yield proxy


@pytest.fixture
def broker_proxy(redis_url: str) -> Iterator[Proxy]:
    with proxy_to(urlsplit(redis_url).port or 0) as proxy:
        yield proxy


@pytest.fixture
def cluster(
    tmp_path: Path, fresh_postgres_url: str, redis_url: str, database_proxy: Proxy, broker_proxy: Proxy
) -> Iterator[Service]:
    """A cluster that reaches PostgreSQL and Redis through proxies."""
    database = make_url(fresh_postgres_url).set(host="127.0.0.1", port=database_proxy.port)
    broker = urlsplit(redis_url)._replace(netloc=f"127.0.0.1:{broker_proxy.port}")
    urls = {"database_url": database.render_as_string(hide_password=False), "broker_url": broker.geturl()}
    with service(tmp_path, **urls, **SETTINGS) as running:
        yield running


def assert_ends(cluster: Service, processes: dict[str, Any], seconds: float) -> None:
    began = time.monotonic()
    for process in processes.values():
        process.send_signal(signal.SIGTERM)
    for name, process in processes.items():
        assert process.wait(seconds) == 0, f"{name}\n{cluster.logs()}"
    assert time.monotonic() - began < seconds


def swallow(cluster: Service, proxy: Proxy) -> None:
    """Let the proxy fall silent, and wait until a process waits for an answer."""
    proxy.swallow()
    until(lambda: proxy.n_swallowed > 0, 30.0, cluster.logs)


def wait_until_lease_expires(cluster: Service, database_url: str, experiment: dict[str, Any]) -> None:
    """Wait until the lease of the experiment's only run has expired, as the database without the proxy tells."""
    expired = select(Run.lease_expires_at < epoch_now()).where(Run.experiment_id == experiment["id"])
    engine = create_engine(database_url)
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        until(lambda: connection.scalar(expired), 30.0, cluster.logs)
    engine.dispose()


def test_silent_servers_stop_no_process_for_long(
    cluster: Service, database_proxy: Proxy, broker_proxy: Proxy, fresh_postgres_url: str
) -> None:
    """The database is silent until the lease of the run has expired. In the end both servers are silent while one
    worker trains and another worker waits for work.
    """
    processes = cluster.cluster()
    victim = cluster.submit(**ENDLESS)
    step = cluster.wait_for_step(victim, 10)["progress"]["step"]
    database_proxy.swallow()
    wait_until_lease_expires(cluster, fresh_postgres_url, victim)
    database_proxy.carry_new()
    cluster.wait_for(victim, lambda run: run["state"] == "running" and run["progress"]["step"] > step, BACK_SECONDS)
    cluster.http.post(f"/v1/experiments/{victim['id']}/cancel")
    cluster.wait_ended(victim, BACK_SECONDS)

    broker_proxy.swallow()
    waiting = cluster.submit(**BRIEF)
    assert cluster.http.get("/readyz").status_code == 503
    broker_proxy.carry_new()
    assert cluster.wait_ended(waiting, 2 * BACK_SECONDS)["state"] == "succeeded"

    processes["second worker"] = cluster.start("worker", "--device", "cpu")
    until(lambda: [worker["fused"] for worker in cluster.get("/v1/workers")["items"]] == [True, True], 60, cluster.logs)
    cluster.wait_for_step(cluster.submit(**ENDLESS), 10)
    assert cluster.wait_ended(cluster.submit(**BRIEF))["state"] == "succeeded", "by the other worker"
    swallow(cluster, broker_proxy)
    swallow(cluster, database_proxy)
    assert_ends(cluster, processes, 30)
