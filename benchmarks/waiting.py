"""Longest wait of other clients while the largest requests are answered.

Each kind of request is sent three times at once. Meanwhile another client asks ``/healthz`` every 50 ms, and may never
wait longer than 250 ms.
"""

import contextlib
import http.client
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import insert

from benchmarks import leaderboard, ours
from benchmarks.largest import LARGEST, Large
from benchmarks.load import TIMEOUT, Connection, get
from benchmarks.number import Number, Target, number
from normcore.spec import resolve
from service.db import Database, rows_of
from service.experiments import submission
from service.experiments.tables import Measurement

ASK_SECONDS = 0.05
AT_ONCE = 3
POINTS = 100_000  # points of a curve
BOARD = "/v1/leaderboards/permuted_digits?profile=small"
BOARDS = {
    "a board": Large("GET", BOARD),
    "a board in CSV": Large("GET", f"{BOARD}&format=csv"),
    "a board in Parquet": Large("GET", f"{BOARD}&format=parquet"),
}
BAR = Target("ours", "at most", 250)


def measure(scratch: Path) -> list[Number]:
    """Measure the longest wait for ``/healthz`` beside each kind of large request."""
    db = leaderboard.fill(leaderboard.on_sqlite(scratch / "api"), 1)
    answers = {**fill_curves(db), **BOARDS}
    db.close()
    with ours.api(scratch / "api") as port:
        beside = {name: ask_beside(port, large) for name, large in {**LARGEST, **answers}.items()}
    return [
        number(f"waiting: {name}", "ms", [1000 * wait for wait in answered.waits], statistic=max, target=BAR)
        for name, answered in beside.items()
    ]


def fill_curves(db: Database) -> dict[str, Large]:
    """Store a run with the longest curves; return the requests for the curves, by name."""
    with db.transaction() as session:
        made, _ = submission.submit(
            session, resolve({"task": {"name": "permuted_digits"}}), memory_bytes=None, request_digest=""
        )
        run_id = made.runs[0].id
        for series in ("train.loss", "valid.loss", "valid.accuracy"):
            curve = [
                {"run_id": run_id, "attempt": 1, "step": k, "series": series, "value": k / 7, "seconds": k / 100}
                for k in range(1, POINTS + 1)
            ]
            session.connection().execute(insert(rows_of(Measurement)), curve)
    path = f"/v1/runs/{run_id}/measurements"
    return {
        "curves": Large("GET", path),
        "curves, compressed": Large("GET", path, headers={"Accept-Encoding": "gzip"}),
        "curves in CSV": Large("GET", f"{path}?format=csv"),
        "curves in Parquet": Large("GET", f"{path}?format=parquet"),
        "page of the curves": Large("GET", f"/runs/{run_id}"),
    }


@dataclass(frozen=True, slots=True)
class LargeRequest:
    """Outcome of a large request that was sent several times at once.

    Attributes:
        seconds: time until all answers were there.
        size: bytes of the longest answer.
        waits: seconds that each request to ``/healthz`` took meanwhile.
    """

    statuses: list[int]
    seconds: float
    size: int
    waits: list[float]


def ask_beside(port: int, large: Large, *, at_once: int = AT_ONCE) -> LargeRequest:
    """Send a request several times at once, and ask ``/healthz`` again and again until all are answered."""
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
    return LargeRequest([status for status, _ in answers], seconds, max(size for _, size in answers), waits)


def send(port: int, large: Large) -> tuple[int, int]:
    """Send a large request; return the status and the size of the answer."""
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
            with contextlib.suppress(OSError):  # the server may refuse the body before all of it is sent
                connection.send(large.body)
        answer = connection.getresponse()
        return answer.status, len(answer.read())
    finally:
        connection.close()
