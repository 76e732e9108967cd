"""How long others wait while the largest requests are answered.

Every kind is sent three times at once. Meanwhile another client asks ``/healthz`` every 50 ms, and may never wait
longer than 250 ms.
"""

import contextlib
import http.client
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from benchmarks import ours
from benchmarks.largest import LARGEST, Large
from benchmarks.load import TIMEOUT, Connection, get
from benchmarks.number import Number, Target, number

ASK_SECONDS = 0.05
AT_ONCE = 3
BAR = Target("ours", "at most", 250)


def measure(scratch: Path) -> list[Number]:
    """The longest wait for ``/healthz`` beside each kind."""
    with ours.api(scratch / "api") as port:
        beside = {name: ask_beside(port, large) for name, large in LARGEST.items()}
    return [
        number(f"waiting: {name}", "ms", [1000 * wait for wait in answered.waits], statistic=max, target=BAR)
        for name, answered in beside.items()
    ]


@dataclass(frozen=True, slots=True)
class Answered:
    """What came of a request.

    Attributes:
        seconds: until the slowest of the answers that were asked for at once.
        size: bytes of the longest.
        waits: seconds that each ``/healthz`` beside them took.
    """

    statuses: list[int]
    seconds: float
    size: int
    waits: list[float]


def ask_beside(port: int, large: Large, *, at_once: int = AT_ONCE) -> Answered:
    """Send a request several times at once, and ask ``/healthz`` until all are answered."""
    waits: list[float] = []
    asked, done = threading.Event(), threading.Event()

    def ask() -> None:
        connection = Connection(port)
        while not done.is_set():
            waits.append(connection.timed(get("/healthz")))
            asked.set()
            done.wait(ASK_SECONDS)
        connection.close()

    beside = threading.Thread(target=ask)
    beside.start()
    try:
        asked.wait(TIMEOUT)
        began = time.perf_counter()
        with ThreadPoolExecutor(at_once) as pool:
            answers = list(pool.map(lambda _: send(port, large), range(at_once)))
        seconds = time.perf_counter() - began
    finally:
        done.set()
        beside.join()
    return Answered([status for status, _ in answers], seconds, max(size for _, size in answers), waits)


def send(port: int, large: Large) -> tuple[int, int]:
    """The status of the answer and its size."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)
    try:
        connection.putrequest(large.method, large.path)
        for name, value in large.headers.items():
            connection.putheader(name, value)
        for k in range(large.more_headers):
            connection.putheader(f"X-{k}", "1")
        if large.body is not None:
            connection.putheader("Content-Length", str(len(large.body)))
        connection.endheaders()
        if large.body is not None:
            with contextlib.suppress(OSError):  # refused before all of it was sent
                connection.send(large.body)
        answer = connection.getresponse()
        return answer.status, len(answer.read())
    finally:
        connection.close()
