"""A worker drops each message that is no notification, with one line in the log, and takes the next message."""

import base64
import json
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import redis
from amqp import Connection, Message
from celery.contrib.testing.worker import start_worker
from celery.signals import setup_logging

from service.queue import QUEUES, RUN_EXPERIMENT, Notification, Notifier, make_celery, queue_name
from service.settings import Settings
from tests.processes import service, until
from workers.notifications import NotificationConsumer

PATIENCE = 20.0  # seconds
NOTHING: dict[str, Any] = {}
BRIEF: dict[str, Any] = {"max_steps": 2, "eval_every": 2}
ENVELOPE: dict[str, Any] = {
    "body": base64.b64encode(b'[["run_nope"], {}, {}]').decode(),
    "content-encoding": "utf-8",
    "content-type": "application/json",
    "headers": {"lang": "py", "task": RUN_EXPERIMENT, "id": "a", "root_id": "a", "parent_id": None, "group": None},
    "properties": {
        "correlation_id": "a",
        "delivery_mode": 2,
        "delivery_info": {"exchange": "normbench", "routing_key": "x"},
        "priority": 0,
        "body_encoding": "base64",
        "delivery_tag": "a",
    },
}


def with_(path: str, value: Any) -> bytes:
    """The envelope of a notification with one field replaced."""
    envelope = json.loads(json.dumps(ENVELOPE))
    inner, (*outer, last) = envelope, path.split(".")
    for name in outer:
        inner = inner[name]
    inner[last] = value
    return json.dumps(envelope).encode()


def with_body(body: bytes) -> bytes:
    return with_("body", base64.b64encode(body).decode())


BODIES = {
    "empty": b"",
    "no json": b"garbage",
    "no utf-8": b"\xff\xfe",
    "null": b"null",
    "three arguments": b"[[1, 2, 3], {}, {}]",
    "no argument": b"[[], {}, {}]",
    "an option": b'[["run_1"], {"a": 1}, {}]',
    "a link": b'[["run_1"], {}, {"callbacks": [{"task": "x"}]}]',
    "deep": b"[" * 100_000,
}
RAW = {
    "text": b"garbage not json",
    "no utf-8": b"\xff\xfe\x00",
    "nothing": b"",
    "deep": b"[" * 100_000,
    "date": b'{"x": {"__type__": "datetime", "__value__": 7}}',
    "long number": b'{"x": ' + b"9" * 10_000 + b"}",
    "null": b"null",
    "list": b"[]",
    "number": b"7",
    "empty object": b"{}",
    "no properties": with_("properties", None),
    "list of properties": with_("properties", []),
    "no tag": with_("properties.delivery_tag", None),
    "list as tag": with_("properties.delivery_tag", []),
    "other encoding": with_("properties.body_encoding", "rot13"),
    "no place": with_("properties.delivery_info", [1]),
    "list of headers": with_("headers", ["task"]),
    "no headers": with_("headers", None),
    "compressed": with_("headers.compression", "zlib"),
    "number as body": with_("body", 1),
    "wrong base64": with_("body", "abc"),
    "other task": with_("headers.task", "no.such.task"),
    "list as task": with_("headers.task", [1]),
    "no id": with_("headers.id", None),
    "later": with_("headers.eta", "2999-01-01T00:00:00"),
    "over": with_("headers.expires", "1999-01-01T00:00:00"),
    "odd limits": with_("headers.timelimit", 5),
    "pickle": with_("content-type", "application/x-python-serialize"),
    **{f"body: {name}": with_body(body) for name, body in BODIES.items()},
}
AMQP = {  # properties of a message, and its body
    **{f"body: {name}": ({"application_headers": ENVELOPE["headers"]}, body) for name, body in BODIES.items()},
    "bare": (NOTHING, b"garbage"),
    "no headers": ({"application_headers": {}}, b'[["run_1"], {}, {}]'),
    "other task": ({"application_headers": {**ENVELOPE["headers"], "task": "no.such.task"}}, b"[[], {}, {}]"),
    "pickle": (
        {"application_headers": ENVELOPE["headers"], "content_type": "application/x-python-serialize"},
        b"\x80\x04N.",
    ),
    "compressed": ({"application_headers": {**ENVELOPE["headers"], "compression": "zlib"}}, b"x"),
}


class Listener:
    """A Celery worker on this broker, as ``workers.app`` has one, in a thread."""

    def __init__(self, settings: Settings) -> None:
        self.taken: list[str] = []
        self.app = make_celery(settings)
        self.notifier = Notifier(self.app)

        @self.app.task(name=RUN_EXPERIMENT, shared=False)  # type: ignore[untyped-decorator]
        def run_experiment(run_id: str) -> None:
            self.taken.append(run_id)

    def takes(self, run_id: str) -> None:
        """Assert that a message that is sent now arrives."""
        self.notifier.notify([Notification(run_id, "cpu")])
        until(lambda: run_id in self.taken, PATIENCE, lambda: f"{run_id} did not arrive: {self.taken}")


@pytest.fixture
def listening() -> Iterator[Callable[[Settings], Listener]]:
    def leave_logging(**_: Any) -> None: ...

    setup_logging.connect(leave_logging)
    with ExitStack() as ends:

        def listen(settings: Settings) -> Listener:
            listener = Listener(settings)
            ends.callback(listener.notifier.close)
            ends.enter_context(
                start_worker(
                    listener.app,
                    perform_ping_check=False,
                    queues=[queue_name("cpu")],
                    consumer_cls=NotificationConsumer,
                )
            )
            return listener

        yield listen
    setup_logging.disconnect(leave_logging)


def dropped(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Lines of the log about dropped messages. There are no other lines, and no traceback."""
    warnings = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert not [record for record in warnings if record.exc_info], caplog.text
    lines = [record.getMessage() for record in warnings]
    assert all(line.startswith("dropped a message from the broker: ") for line in lines), caplog.text
    assert all("\n" not in line and len(line) < 400 for line in lines)
    return lines


def lie_in(folder: Path, raw: bytes, name: str) -> None:
    part = folder / f"{name}.part"
    part.write_bytes(raw)
    part.rename(folder / f"{name}.{queue_name('cpu')}.msg")


def test_a_worker_drops_invalid_messages_from_files_and_takes_the_next(
    tmp_path: Path, listening: Any, caplog: pytest.LogCaptureFixture
) -> None:
    listener = listening(Settings(data_dir=tmp_path, broker_url="filesystem://localhost"))
    folder = tmp_path / "broker" / "messages"
    for number, raw in enumerate(RAW.values()):
        lie_in(folder, raw, f"{number:02d}")
    (folder / f"folder.{queue_name('cpu')}.msg").mkdir()
    os.mkfifo(folder / f"pipe.{queue_name('cpu')}.msg")
    listener.takes("run_1")
    until(lambda: len(dropped(caplog)) >= len(RAW) + 2, PATIENCE, lambda: caplog.text)
    listener.takes("run_2")
    assert len(dropped(caplog)) == len(RAW) + 2
    assert not list(folder.glob("*.msg"))
    assert listener.taken == ["run_1", "run_2"]


def test_a_worker_drops_invalid_messages_from_redis_and_takes_the_next(
    redis_url: str, tmp_path: Path, listening: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with redis.Redis.from_url(redis_url) as broker:
        broker.delete(*map(queue_name, QUEUES))
        listener = listening(Settings(data_dir=tmp_path, broker_url=redis_url))
        broker.lpush(queue_name("cpu"), *RAW.values())
        listener.takes("run_1")
        assert len(dropped(caplog)) == len(RAW)
        assert broker.llen(queue_name("cpu")) == 0
        assert listener.taken == ["run_1"]


def test_a_worker_drops_invalid_messages_from_rabbitmq_and_takes_the_next(
    rabbitmq_url: str, tmp_path: Path, listening: Any, caplog: pytest.LogCaptureFixture
) -> None:
    listener = listening(Settings(data_dir=tmp_path, broker_url=rabbitmq_url))
    host = rabbitmq_url.partition("@")[2].rstrip("/")
    with Connection(host, "guest", "guest") as connection:
        channel = connection.channel()
        for properties, body in AMQP.values():
            properties = {"content_type": "application/json", "content_encoding": "utf-8", **properties}
            channel.basic_publish(Message(body, **properties), "normbench", queue_name("cpu"))
        listener.takes("run_1")
        assert len(dropped(caplog)) == len(AMQP)
        assert listener.taken == ["run_1"]
        assert channel.queue_declare(queue_name("cpu"), passive=True).message_count == 0


def test_a_worker_process_goes_on_after_invalid_messages(tmp_path: Path, redis_url: str) -> None:
    with service(tmp_path, broker_url=redis_url) as running:
        worker = running.work()
        running.wait_succeeded(running.submit(seeds=(0,), training=BRIEF))
        with redis.Redis.from_url(redis_url) as broker:
            broker.lpush(queue_name("cpu"), *RAW.values())
            running.wait_succeeded(running.submit(seeds=(1,), training=BRIEF))
            until(lambda: broker.llen(queue_name("cpu")) == 0, PATIENCE, running.logs)
        assert worker.poll() is None, running.logs()
        said = (tmp_path / "worker.log").read_text()
        assert said.count("dropped a message from the broker: ") == len(RAW)
        assert "Traceback" not in said
