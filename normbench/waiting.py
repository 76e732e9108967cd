"""Poll experiments and sweeps until they have ended. A restart of the service does not end the waiting."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from normbench.answers import ENDED
from normbench.errors import NormbenchError, StillRunning, Unavailable, Unreachable
from normbench.shown_answers import Experiment, Sweep

Watched = TypeVar("Watched", Experiment, Sweep)

OUTAGE_SECONDS = 600.0  # waiting goes on for so long while nothing answers; the service may be restarting
POLL_SECONDS, LONGEST_POLL_SECONDS = 0.5, 5.0
PATIENT = 4  # after a slow poll, the pause is this many times as long as the poll took


def looks(
    asked: Sequence[Callable[[float], Watched]], timeout: float | None
) -> Iterator[list[Watched] | Unreachable | Unavailable]:
    """Poll again and again. Each poll yields all answers, or the error if the service is away.

    Args:
        asked: functions that each ask for one experiment or sweep; their argument is the seconds that are left.
        timeout: seconds after which polling ends, with one last poll. None: it never ends.

    Raises:
        Unreachable, Unavailable: the service was away for ten minutes.
    """
    outage = Outage()
    deadline = math.inf if timeout is None else time.monotonic() + timeout
    while True:
        began, pause = time.monotonic(), POLL_SECONDS
        try:
            found = [ask(deadline - time.monotonic()) for ask in asked]
        except (Unreachable, Unavailable) as error:
            outage.lasts(error)
            yield error
        else:
            outage.ends()
            pause = min(max(pause, PATIENT * (time.monotonic() - began)), LONGEST_POLL_SECONDS)
            yield found
        left = deadline - time.monotonic()
        if left <= 0:
            return
        time.sleep(min(pause, left))


def wait_for_end(id: str, looks: Iterator[list[Watched] | Unreachable | Unavailable], timeout: float | None) -> Watched:
    """Wait until the experiment or sweep has ended, and return it.

    Args:
        id: its id, for the message of an error.
        looks: polls of this experiment or sweep alone, from the function ``looks``.
        timeout: the timeout of these polls, for the message of an error.

    Raises:
        StillRunning: the polls stopped before the experiment or sweep ended.
        Unreachable, Unavailable: no poll was answered.
    """
    seen_last: Watched | None = None
    for seen in looks:
        if isinstance(seen, Unreachable | Unavailable):
            away = seen
        elif seen[0]["state"] in ENDED:
            return seen[0]
        else:
            seen_last = seen[0]
    if seen_last is None:
        raise away
    raise StillRunning(f"{id} has not ended after {timeout:g} s ({seen_last['state']} when last seen); it goes on")


class Outage:
    """Clock of an outage: the time since the service went away."""

    def __init__(self) -> None:
        self._since: float | None = None

    def ends(self) -> None:
        self._since = None

    def lasts(self, error: NormbenchError) -> None:
        """Note that the service is away.

        Raises:
            NormbenchError: ``error`` itself, if the outage has lasted longer than OUTAGE_SECONDS.
        """
        self._since = self._since or time.monotonic()
        if time.monotonic() > self._since + OUTAGE_SECONDS:
            raise error
