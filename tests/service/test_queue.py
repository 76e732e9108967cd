"""The notifier sends small messages without waiting, and a lost message loses no run."""

import base64
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import redis
from starlette.testclient import TestClient

from service.app import create_app
from service.queue import QUEUES, RUN_EXPERIMENT, Notification, Notifier, broker_problem, make_celery, queue_name
from service.settings import Settings
from tests.proxies import proxy_to
from tests.servers import free_port
from tests.service.sample_runs import written

PATIENCE = 10.0  # seconds
SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


@pytest.fixture(params=["filesystem", "redis"])
def broker_url(request: pytest.FixtureRequest) -> str:
    if request.param == "filesystem":
        return "filesystem://localhost"
    url: str = request.getfixturevalue("redis_url")
    with redis.Redis.from_url(url) as connection:
        for device in QUEUES:
            connection.delete(queue_name(device))
    return url


def on_broker(tmp_path: Path, broker_url: str) -> Settings:
    return Settings(data_dir=tmp_path / "data", broker_url=broker_url)


def eventually(holds: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + PATIENCE
    while not (value := holds()):
        assert time.monotonic() < deadline, "it never came true"
        time.sleep(0.02)
    return value


def raw_messages(settings: Settings, device: str) -> list[bytes]:
    """Messages as the broker stores them."""
    if settings.broker_url.startswith("redis"):
        with redis.Redis.from_url(settings.broker_url) as connection:
            return [bytes(message) for message in connection.lrange(queue_name(device), 0, -1)]
    folder = settings.data_dir / "broker" / "messages"
    return [path.read_bytes() for path in sorted(folder.glob(f"*.{queue_name(device)}.msg"))]


def test_a_message_is_json_and_carries_the_runs_id_and_nothing_else(tmp_path: Path, broker_url: str) -> None:
    settings = on_broker(tmp_path, broker_url)
    notifier = Notifier(make_celery(settings))
    notifier.notify([Notification("run_1", "cpu")])
    (raw,) = eventually(lambda: raw_messages(settings, "cpu"))
    notifier.close()
    message = json.loads(raw)
    assert message["content-type"] == "application/json"
    assert message["headers"]["task"] == RUN_EXPERIMENT == "normbench.run_experiment"
    assert message["headers"]["eta"] is None
    body = json.loads(base64.b64decode(message["body"]))
    assert body[:2] == [["run_1"], {}]
    assert "spec" not in json.dumps(message)
    assert len(raw) < 2000


def test_a_notification_is_on_the_queue_of_its_device_and_is_taken_once(tmp_path: Path, broker_url: str) -> None:
    settings = on_broker(tmp_path, broker_url)
    app = make_celery(settings)
    notifier = Notifier(app)
    notifier.notify(Notification(f"run_{k}", device) for k, device in enumerate(("auto", "cpu", "cuda")))
    with app.connection_for_read() as connection:

        def take(device: str) -> Any:
            return connection.default_channel.basic_get(queue_name(device), no_ack=True)

        for k, device in enumerate(("auto", "cpu", "cuda")):
            message = eventually(partial(take, device))
            assert message.payload[0] == [f"run_{k}"]
            assert take(device) is None
    notifier.close()


def test_a_broker_that_answers_has_no_problem(tmp_path: Path, broker_url: str) -> None:
    assert broker_problem(make_celery(on_broker(tmp_path, broker_url))) is None


def test_rabbitmq_answers_and_carries_messages_and_its_silence_is_soon_known(tmp_path: Path, rabbitmq_url: str) -> None:
    with proxy_to(urlsplit(rabbitmq_url).port or 0) as proxy:
        app = make_celery(on_broker(tmp_path, f"amqp://guest:guest@127.0.0.1:{proxy.port}//"))
        assert broker_problem(app) is None
        notifier = Notifier(app)
        notifier.notify([Notification("run_1", "auto")])
        with app.connection_for_read() as connection:
            message = eventually(lambda: connection.default_channel.basic_get(queue_name("auto"), no_ack=True))
        notifier.close()
        assert json.loads(message.body)[0] == ["run_1"]
        proxy.swallow()
        began = time.monotonic()
        assert broker_problem(app)
        assert time.monotonic() - began < PATIENCE


def away() -> str:
    return f"redis://127.0.0.1:{free_port()}/0"


@pytest.mark.timeout(60)  # it would otherwise be tried again and again
def test_a_broker_that_is_away_is_a_problem_that_is_soon_known(tmp_path: Path) -> None:
    problem = broker_problem(make_celery(on_broker(tmp_path, away())))
    assert problem
    assert "refused" in problem


@pytest.fixture
def silent() -> Iterator[socket.socket]:
    """A broker that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


def url_of(silent: socket.socket) -> str:
    return f"redis://127.0.0.1:{silent.getsockname()[1]}/0"


def tries(silent: socket.socket) -> int:
    """Number of connections so far; each waits for an answer as long as a message may take."""
    count = 0
    while True:
        try:
            silent.accept()[0].close()
        except BlockingIOError:
            return count
        count += 1


@pytest.mark.timeout(60)
def test_notifying_never_waits_for_a_broker_and_closing_hardly(tmp_path: Path, silent: socket.socket) -> None:
    others = set(threading.enumerate())
    notifier = Notifier(make_celery(on_broker(tmp_path, url_of(silent))))
    notifier.notify(Notification(f"run_{k}", "auto") for k in range(1000))
    notifier.close(timeout=0.1)
    assert tries(silent) < 30, "all 1000 were waited for"
    eventually(lambda: not any(t.name.startswith("notifier") for t in set(threading.enumerate()) - others))


def test_messages_are_sent_again_once_the_broker_is_back(tmp_path: Path, redis_url: str) -> None:
    settings = on_broker(tmp_path, redis_url)
    app = make_celery(settings)
    notifier = Notifier(app)
    with redis.Redis.from_url(redis_url) as connection:
        connection.delete(queue_name("cuda"))
        notifier.notify([Notification("run_1", "cuda")])
        eventually(lambda: connection.llen(queue_name("cuda")) == 1)
        connection.execute_command("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        notifier.notify([Notification("run_2", "cuda")])
        notifier.notify([Notification("run_3", "cuda")])
        eventually(lambda: any(b"run_3" in base64.b64decode(json.loads(raw)["body"]) for raw in messages(connection)))
        connection.delete(queue_name("cuda"))
    notifier.close()


def messages(connection: Any) -> list[bytes]:
    return [bytes(message) for message in connection.lrange(queue_name("cuda"), 0, -1)]


@SQLITE
def test_a_submission_does_not_wait_for_a_broker_that_is_silent(settings: Settings, silent: socket.socket) -> None:
    app = create_app(settings.model_copy(update={"broker_url": url_of(silent)}), require_keys=False)
    with TestClient(app) as client:
        ids = [client.post("/v1/experiments", json=written(seeds=range(20))).json()["id"] for _ in range(3)]
        assert tries(silent) < 30, "all 60 messages were waited for"
        assert [item["id"] for item in client.get("/v1/experiments").json()["items"]] == ids[::-1]
        answer = client.get("/readyz")
        assert answer.status_code == 503
        assert "broker" in answer.json()["detail"]
        assert client.get("/healthz").status_code == 200


@SQLITE
def test_a_submission_notifies_of_each_run_and_a_repeated_one_does_not(client: TestClient, settings: Settings) -> None:
    for _ in range(2):
        client.post("/v1/experiments", json=written(seeds=[0, 1, 2], device="cpu"), headers={"Idempotency-Key": "k"})
    other = client.post("/v1/experiments", json=written(device="cpu")).json()
    raw = eventually(lambda: (all := raw_messages(settings, "cpu"))[3:] and all)
    assert len(raw) == 4
    assert json.loads(base64.b64decode(json.loads(raw[3])["body"]))[0] == [other["runs"][0]["id"]]


def test_a_flood_of_messages_does_not_delay_those_of_another_queue(tmp_path: Path, broker_url: str) -> None:
    settings = on_broker(tmp_path, broker_url)
    notifier = Notifier(make_celery(settings))
    notifier.notify(Notification(f"run_{k}", "cuda") for k in range(300))
    notifier.notify([Notification("run_cpu", "cpu")])
    eventually(lambda: raw_messages(settings, "cpu"))
    assert len(raw_messages(settings, "cuda")) < 300
    notifier.close()


def test_a_message_appears_in_the_folder_whole(tmp_path: Path) -> None:
    settings = on_broker(tmp_path, "filesystem://localhost")
    app = make_celery(settings)
    text = "x" * 2_000_000
    done = threading.Event()
    torn: list[str] = []
    read = 0

    def watch() -> None:
        nonlocal read
        folder = settings.data_dir / "broker" / "messages"
        while not done.is_set():
            for path in folder.glob("*.msg"):
                content = path.read_text()
                read += 1
                if not content.endswith("}") or len(content) < len(text):
                    torn.append(path.name)

    thread = threading.Thread(target=watch)
    thread.start()
    with app.connection_for_write() as connection:
        channel = connection.default_channel
        for _ in range(15):
            channel._put(queue_name("cpu"), {"body": text})
    done.set()
    thread.join()
    assert read > 0
    assert torn == []


def test_the_broker_of_files_stores_no_bindings_in_files(tmp_path: Path) -> None:
    settings = on_broker(tmp_path, "filesystem://localhost")
    notifier = Notifier(make_celery(settings))
    notifier.notify([Notification("run_1", "cpu")])
    assert len(eventually(lambda: raw_messages(settings, "cpu"))) == 1
    notifier.close()
    assert [folder.name for folder in (settings.data_dir / "broker").iterdir()] == ["messages"]


def test_tasks_are_acknowledged_early_and_carry_no_results(tmp_path: Path) -> None:
    conf = make_celery(on_broker(tmp_path, "redis://127.0.0.1:1/0")).conf
    assert conf.task_acks_late is False
    assert conf.task_ignore_result is True
    assert conf.accept_content == ["json"]
    assert conf.worker_prefetch_multiplier == 1
    assert conf.broker_transport_options["ack_emulation"] is False, "nothing comes again, whatever a worker forgets"
