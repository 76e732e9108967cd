"""The event stream of a run or an experiment, opened again where the connection breaks."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx

from normbench.answers import ENDED
from normbench.connection import Connection, pauses
from normbench.errors import Unavailable, Unreachable
from normbench.events import Event, Message, event, messages
from normbench.waiting import Outage

SILENCE_SECONDS = 60.0  # without even a ping, after which a stream counts as broken


def follow(service: Connection, path: str, id: str) -> Iterator[Event]:
    """Yield events until every run has ended. A stream that is opened again goes on after the last event received.

    Args:
        path: path of the run or experiment.
        id: id of the run or experiment.

    Raises:
        Unreachable, Unavailable: the service was away for ten minutes.
    """
    last_id, pause, outage = None, pauses(), Outage()
    while True:
        try:
            with _messages(service, f"{path}/events", last_id) as told:
                outage.ends()
                for message in told:
                    last_id, pause = message.id, pauses()
                    happened = event(message, id)
                    if happened is not None:
                        yield happened
            if service.call("GET", path, safe=True)["state"] in ENDED:
                return
        except (Unreachable, Unavailable) as error:
            outage.lasts(error)
        time.sleep(next(pause))


@contextmanager
def _messages(service: Connection, path: str, last_id: str | None) -> Iterator[Iterator[Message]]:
    headers = {"Last-Event-ID": last_id} if last_id else {}
    with service.stream(path, headers=headers, timeout=httpx.Timeout(SILENCE_SECONDS)) as answer:
        yield messages(answer.iter_lines())
