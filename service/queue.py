"""Notifications to workers. The table of runs is the queue; a notification only says that a run waits there.

A notification may be lost or arrive twice without harm: the scheduler sends another for a run that waits too long, and
``lifecycle.claim`` gives a run to one worker only. So messages are acknowledged early and have no result.
"""

import logging
import math
import queue
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self

from celery import Celery
from kombu import Exchange, Queue
from kombu.transport import TRANSPORT_ALIASES

from service.settings import Settings

log = logging.getLogger(__name__)

RUN_EXPERIMENT = "normbench.run_experiment"
FUSED = "fused"  # for runs on any device that need fused kernels, because not every worker has such kernels
QUEUES = ("auto", "cpu", "cuda", FUSED)  # what a run may ask for
PAUSE = 10  # after a message, as a multiple of the time to send it: many messages must not slow down answers
PAUSE_SECONDS = 0.05  # at most
HEALTH_CHECK_SECONDS = 3  # after twice this time of silence, connect to the broker again
BROKER_HEARTBEAT_SECONDS = 10  # the same for RabbitMQ, which has heartbeats
PUBLISH_TIMEOUT = 2.0  # seconds; then a message is dropped, and the scheduler sends another


TRANSPORT_ALIASES["filesystem"] = "service.transports.files:FilesTransport"
TRANSPORT_ALIASES["redis"] = TRANSPORT_ALIASES["rediss"] = "service.transports.redis:RedisTransport"


def queue_name(device: str) -> str:
    """Name of the queue of messages about runs that asked for ``auto``, ``cpu`` or ``cuda``, or that need ``fused``
    kernels.
    """
    return f"normbench-{device}"


def make_celery(settings: Settings) -> Celery:
    """Build the Celery application that API, scheduler and workers share."""
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
        broker_channel_error_retry=True,  # for a Redis that fails over, or has a key of another type
        broker_connection_retry=True,
        broker_connection_retry_on_startup=True,
        broker_connection_max_retries=None,
        broker_transport_options=_transport_options(settings),
        broker_connection_timeout=PUBLISH_TIMEOUT,
        broker_heartbeat=BROKER_HEARTBEAT_SECONDS,
    )
    return app


def _transport_options(settings: Settings) -> dict[str, Any]:
    """Options of the broker's transport, with short time-outs: a failed call is made again, or the scheduler sends
    another message.
    """
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
    """Reason why the broker cannot be reached; None if it can. The check declares a queue, which is also the first step
    of sending a message.
    """
    try:
        with app.connection_for_write(connect_timeout=PUBLISH_TIMEOUT) as connection:
            connection.ensure_connection(max_retries=1, timeout=PUBLISH_TIMEOUT)
            app.amqp.queues[queue_name("auto")](connection.default_channel).declare()
    except Exception as error:  # every transport has errors of its own
        return f"{type(error).__name__}: {error}"
    return None


@dataclass(frozen=True, slots=True)
class Notification:
    """Message to workers that the run ``run_id`` waits. It is for the workers that listen to ``queue``, and is sent
    after the commit of the transaction.
    """

    run_id: str
    queue: str

    @classmethod
    def of(cls, run_id: str, device: str, *, needs_fused: bool) -> Self:
        """Build the notification for a run that asked for ``device``. A run that needs fused kernels has a queue of its
        own.
        """
        return cls(run_id, FUSED if needs_fused else device)


class Notifier:
    """Sends notifications from threads of its own, one for each queue: no HTTP answer waits for a broker, and no queue
    waits for another."""

    def __init__(self, app: Celery) -> None:
        self._app = app
        self._closing = threading.Event()
        self._deadline = math.inf  # of sending
        self._unsent: dict[str, queue.SimpleQueue[Notification | None]] = {d: queue.SimpleQueue() for d in QUEUES}
        self._threads = [
            threading.Thread(target=self._send_all, args=(unsent,), name=f"notifier {device}", daemon=True)
            for device, unsent in self._unsent.items()
        ]
        for thread in self._threads:
            thread.start()

    def notify(self, notifications: Iterable[Notification]) -> None:
        """Send notifications soon, from other threads. Call this after the commit."""
        for notification in notifications:
            self._unsent[notification.queue].put(notification)

    def close(self, timeout: float = PUBLISH_TIMEOUT) -> None:
        """Send the messages that still wait, for at most ``timeout`` seconds, and stop."""
        self._deadline = time.monotonic() + timeout
        self._closing.set()
        for unsent in self._unsent.values():
            unsent.put(None)
        for thread in self._threads:
            thread.join(max(0.0, self._deadline - time.monotonic()))

    def _send_all(self, unsent: queue.SimpleQueue[Notification | None]) -> None:
        while (notification := unsent.get()) is not None and time.monotonic() < self._deadline:
            began = time.perf_counter()
            try:
                self._app.send_task(
                    RUN_EXPERIMENT,
                    args=[notification.run_id],
                    queue=queue_name(notification.queue),
                    retry=False,
                    ignore_result=True,
                )
            except Exception as error:  # every transport has errors of its own; the scheduler sends another
                log.warning("no message for %s: %s: %s", notification.run_id, type(error).__name__, error)
            self._closing.wait(min(PAUSE * (time.perf_counter() - began), PAUSE_SECONDS))
