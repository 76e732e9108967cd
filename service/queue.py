"""The doorbell. A run's row is the queue; a message only says that there is something to look at.

It may be lost or come twice without harm: the scheduler rings again for what waits too long, and ``claim`` gives
a run to one worker only. So messages are acknowledged early, have no result, no delay and no remote control.
"""

import logging
import os
import queue
import threading
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from celery import Celery
from kombu import Exchange, Queue
from kombu.transport import TRANSPORT_ALIASES, filesystem, virtual
from kombu.utils.json import dumps

from service.experiments.lifecycle import Bell
from service.settings import Settings

log = logging.getLogger(__name__)

RUN_EXPERIMENT = "normbench.run_experiment"
QUEUES = ("auto", "cpu", "cuda")  # what a run may ask for
PAUSE = 10  # after a message, in the time that it took; a flood of them would cost the answers that they are for
PAUSE_SECONDS = 0.05  # at most
HEALTH_CHECK_SECONDS = 3  # a broker that says nothing for twice so long is connected to anew
BROKER_HEARTBEAT_SECONDS = 10  # the same for RabbitMQ, which has heartbeats
PUBLISH_TIMEOUT = 2.0  # seconds; a message that cannot be sent by then is left to the scheduler


class AtomicChannel(filesystem.Channel):  # type: ignore[misc]
    """A message appears in the folder whole; kombu's own can be read while it is being written. Which queue is bound to
    what every process declares for itself; kombu's own keeps it in a file, which a power cut leaves torn for ever. Its
    threads share what was declared, and two at once would have an exchange forget its queues.
    """

    supports_fanout = False
    get_table = virtual.Channel.get_table
    _declaring = threading.Lock()

    def exchange_declare(self, *args: Any, **options: Any) -> None:
        with self._declaring:
            super().exchange_declare(*args, **options)

    def _put(self, queue: str, payload: Any, **options: Any) -> None:
        folder = Path(self.data_folder_out)
        name = f"{time.monotonic_ns():020d}_{os.urandom(8).hex()}"
        hidden = folder / f"{name}.part"
        hidden.write_text(dumps(payload))
        hidden.rename(folder / f"{name}.{queue}.msg")


class AtomicTransport(filesystem.Transport):  # type: ignore[misc]
    Channel = AtomicChannel


TRANSPORT_ALIASES["filesystem"] = f"{__name__}:AtomicTransport"


def queue_name(device: str) -> str:
    """The queue of runs that asked for ``auto``, ``cpu`` or ``cuda``."""
    return f"normbench-{device}"


def make_celery(settings: Settings) -> Celery:
    """The Celery application that API, scheduler and workers share."""
    app = Celery("normbench", broker=settings.broker_url)
    app.conf.update(
        accept_content=["json"],
        task_serializer="json",
        task_ignore_result=True,
        task_acks_late=False,
        task_store_errors_even_if_ignored=False,
        task_queues=[Queue(queue_name(d), Exchange("normbench"), queue_name(d)) for d in QUEUES],
        task_default_queue=queue_name("auto"),
        task_default_exchange="normbench",
        task_create_missing_queues=False,
        worker_prefetch_multiplier=1,
        worker_enable_remote_control=False,
        worker_send_task_events=False,
        worker_hijack_root_logger=False,
        worker_redirect_stdouts=False,
        broker_connection_retry=True,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_transport_options=_transport_options(settings),
        broker_connection_timeout=PUBLISH_TIMEOUT,
        broker_heartbeat=BROKER_HEARTBEAT_SECONDS,
    )
    return app


def _transport_options(settings: Settings) -> dict[str, Any]:
    """No call to a broker waits for long; it is made again, or the scheduler rings again."""
    scheme = settings.broker_url.partition(":")[0]
    if scheme == "filesystem":
        folder = settings.data_dir / "broker" / "messages"
        folder.mkdir(parents=True, exist_ok=True)
        return {
            "data_folder_in": str(folder),
            "data_folder_out": str(folder),
            "processed_folder": str(folder),
            "polling_interval": settings.broker_polling_seconds,
        }
    retries = {"max_retries": 1, "interval_start": 0}
    if scheme in ("amqp", "amqps", "pyamqp"):
        return {**retries, "read_timeout": PUBLISH_TIMEOUT, "write_timeout": PUBLISH_TIMEOUT}
    return {
        **retries,
        "ack_emulation": False,  # an acknowledgement that fails would block its worker's queue for good
        "socket_keepalive": True,
        "socket_connect_timeout": PUBLISH_TIMEOUT,
        "socket_timeout": PUBLISH_TIMEOUT,
        "health_check_interval": HEALTH_CHECK_SECONDS,
    }


def broker_problem(app: Celery) -> str | None:
    """Why the broker cannot be reached, or None; found out by what every message begins with, declaring its queue."""
    try:
        with app.connection_for_write(connect_timeout=PUBLISH_TIMEOUT) as connection:
            connection.ensure_connection(max_retries=1, timeout=PUBLISH_TIMEOUT)
            app.amqp.queues[queue_name("auto")](connection.default_channel).declare()
    except Exception as error:  # every transport has errors of its own
        return f"{type(error).__name__}: {error}"
    return None


class Doorbell:
    """Sends messages from threads of its own, one for each queue, so that no answer ever waits for a broker, and no
    message for those of a queue that others listen to."""

    def __init__(self, app: Celery) -> None:
        self._app = app
        self._closing = threading.Event()
        self._bells: dict[str, queue.SimpleQueue[Bell | None]] = {device: queue.SimpleQueue() for device in QUEUES}
        self._threads = [
            threading.Thread(target=self._send_all, args=(bells,), name=f"doorbell {device}", daemon=True)
            for device, bells in self._bells.items()
        ]
        for thread in self._threads:
            thread.start()

    def ring(self, bells: Iterable[Bell]) -> None:
        """Send these messages soon; call it after the commit."""
        for bell in bells:
            self._bells[bell.queue].put(bell)

    def close(self, timeout: float = PUBLISH_TIMEOUT) -> None:
        """Send what is waiting, for at most ``timeout`` seconds."""
        deadline = time.monotonic() + timeout
        self._closing.set()
        for bells in self._bells.values():
            bells.put(None)
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _send_all(self, bells: queue.SimpleQueue[Bell | None]) -> None:
        while (bell := bells.get()) is not None:
            began = time.perf_counter()
            try:
                self._app.send_task(
                    RUN_EXPERIMENT, args=[bell.run_id], queue=queue_name(bell.queue), retry=False, ignore_result=True
                )
            except Exception as error:  # every transport has errors of its own; the scheduler rings again
                log.warning("no message for %s: %s: %s", bell.run_id, type(error).__name__, error)
            self._closing.wait(min(PAUSE * (time.perf_counter() - began), PAUSE_SECONDS))
