"""Look at what the service does until it has ended; a restart of the service is sat out."""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

from normbench.answers import ENDED, Experiment, Sweep
from normbench.errors import NormbenchError, StillRunning, Unavailable, Unreachable

Watched = TypeVar("Watched", Experiment, Sweep)

OUTAGE_SECONDS = 600.0  # for how long waiting goes on while nothing answers; the service may be restarting
POLL_SECONDS, LONGEST_POLL_SECONDS = 0.5, 5.0
PATIENT = 4  # times what a look took until the next one, where that is longer


def looks(
    asked: Sequence[Callable[[float], Watched]], timeout: float | None
) -> Iterator[list[Watched] | Unreachable | Unavailable]:
    """Look again and again at what is asked for. A look that fails because the service is away gives the error.

    Args:
        asked: what each gives within so many seconds.
        timeout: seconds after which it ends, with a last look. For ever if None.

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


def ended(id: str, looks: Iterator[list[Watched] | Unreachable | Unavailable], timeout: float | None) -> Watched:
    """Wait for the end; return the last look.

    Raises:
        StillRunning, Unreachable, Unavailable: the looks came to an end before it did.
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
    """Outage of the service: the time since it went away."""

    def __init__(self) -> None:
        self._since: float | None = None

    def ends(self) -> None:
        self._since = None

    def lasts(self, error: NormbenchError) -> None:
        """Raises:
        NormbenchError: this one, if it has lasted too long.
        """
        self._since = self._since or time.monotonic()
        if time.monotonic() > self._since + OUTAGE_SECONDS:
            raise error
