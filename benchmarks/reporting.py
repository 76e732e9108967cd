"""Rate at which a worker's ``RunReport`` stores ``Measured`` messages in SQLite, compared with MLflow's log-batch.

MLflow's clients report over HTTP. Our workers hold a database connection, so our side has no HTTP; this is the design
that is measured. A batch of ours holds the measurements that a worker receives between two flushes at the rate that we
aim at. A batch of MLflow's is as large as MLflow allows. Both sides have four series.
"""

import threading
import time
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import func, select

from benchmarks import mlflow
from benchmarks.load import Connection
from benchmarks.number import Number, Target, number
from normcore.events import Measured
from normcore.spec import resolve
from service.db import Database
from service.experiments import lifecycle, submission
from service.experiments.tables import Measurement
from service.processes.startup import prepare
from workers.report import RunReport
from workers.settings import WorkerSettings

BENCH = "wrk_bench"
SERIES = ("train.loss", "train.grad_norm", "valid.loss", "valid.accuracy")
STEPS_PER_FLUSH = 6_250  # times four series: 25,000 measurements, a flush interval (0.25 s) at 100,000/s
ROUNDS, FLUSHES, BATCHES = 8, 4, 10  # in each round: FLUSHES of ours and BATCHES of MLflow's

REPEATED_STEPS = 1_250  # times four: a batch of 5,000, the newest of the run
SHORT_STEPS, LONG_STEPS = 2_500, 50_000  # times four: 10,000 and 200,000 rows of history
REPEATS = 60


class Store:
    """Database with one claimed run, and the report that writes the run's measurements."""

    def __init__(self, folder: Path) -> None:
        self._settings = WorkerSettings(data_dir=folder, database_url=f"sqlite:///{folder / 'normbench.db'}")
        self.db: Database = prepare(self._settings)
        self.report = self._claimed()

    def _claimed(self) -> RunReport:
        spec = resolve({"task": {"name": "permuted_digits"}, "device": "cpu"})
        with self.db.transaction() as session:
            submission.submit(session, spec, memory_bytes=None, request_digest="")
            claim = lifecycle.claim(session, queues=("cpu",), worker_id=BENCH, lease_seconds=60.0)
        assert claim is not None
        return RunReport(self.db, self._settings, claim.lease, "cpu", threading.Event())

    def write(self, messages: Sequence[Measured]) -> float:
        """Give the messages to the report and flush it; return the seconds that this took."""
        began = time.perf_counter()
        for message in messages:
            self.report.note(message)
        self.report.flush()
        return time.perf_counter() - began

    def check(self, rows: int) -> None:
        """Check that ``rows`` measurements are stored. A flush that the database refuses only writes to the log.

        Raises:
            RuntimeError: the database has another number of measurements.
        """
        with self.db.snapshot() as session:
            stored = session.scalar(select(func.count()).select_from(Measurement))
        if stored != rows:
            raise RuntimeError(f"expected {rows} measurements in the database, found {stored}")


def measure(scratch: Path) -> list[Number]:
    return [_rate(scratch), _repeated(scratch)]


def messages(first: int, steps: int) -> list[Measured]:
    """Messages of ``steps`` steps from ``first`` on, each with a value of every series."""
    return [
        Measured(step, step * 0.01, {name: 1.0 / (step + k) for k, name in enumerate(SERIES, start=1)})
        for step in range(first, first + steps)
    ]


def _rate(scratch: Path) -> Number:
    store, per_round = Store(scratch / "rate"), STEPS_PER_FLUSH * FLUSHES
    our, their = [], []
    with mlflow.server(scratch / "mlflow") as tracking:
        other = Tracking(tracking) if tracking is not None else None
        for turn in range(ROUNDS):
            batches = [messages(1 + turn * per_round + k * STEPS_PER_FLUSH, STEPS_PER_FLUSH) for k in range(FLUSHES)]
            our.append(per_round * len(SERIES) / sum(map(store.write, batches)))
            if other is not None:
                their.append(other.rate(turn))
    store.check(ROUNDS * per_round * len(SERIES))
    store.db.close()
    return number(
        "reporting: rate",
        "/s",
        our,
        versus="MLflow log-batch over HTTP",
        theirs=their,
        target=Target("ours", "at least", 200_000),
    )


class Tracking:
    """MLflow run to which metrics are logged."""

    def __init__(self, port: int) -> None:
        self._connection = Connection(port)
        self._run_id = mlflow.new_run(self._connection)

    def rate(self, turn: int) -> float:
        """Log the batches of one round; return the metrics logged per second.

        Args:
            turn: number of the round, which decides the steps.
        """
        steps = mlflow.MAX_BATCH // len(SERIES)
        requests = [
            mlflow.log_batch(
                self._run_id,
                [
                    {"key": name, "value": value, "step": message.step, "timestamp": message.step}
                    for message in messages(1 + (turn * BATCHES + k) * steps, steps)
                    for name, value in message.values.items()
                ],
            )
            for k in range(BATCHES)
        ]
        return BATCHES * mlflow.MAX_BATCH / sum(map(self._connection.timed, requests))


def _repeated(scratch: Path) -> Number:
    """Time to write a run's newest batch again, with a short and with a long history of the run in the database."""
    histories = {SHORT_STEPS: Store(scratch / "short"), LONG_STEPS: Store(scratch / "long")}
    seconds: dict[int, list[float]] = {steps: [] for steps in histories}
    for steps, store in histories.items():
        for first in range(1, steps + 1, SHORT_STEPS):
            store.write(messages(first, SHORT_STEPS))
    for turn in range(REPEATS):
        for steps in sorted(histories, reverse=bool(turn % 2)):
            newest = messages(1 + steps - REPEATED_STEPS, REPEATED_STEPS)
            seconds[steps].append(1000 * histories[steps].write(newest))
    for steps, store in histories.items():
        store.check(steps * len(SERIES))
        store.db.close()
    return number(
        f"reporting: {REPEATED_STEPS * len(SERIES):,} again, {LONG_STEPS * len(SERIES):,} stored",
        "ms",
        seconds[LONG_STEPS],
        versus=f"{SHORT_STEPS * len(SERIES):,} stored",
        theirs=seconds[SHORT_STEPS],
        target=Target("ratio", "at most", 1.2),
    )
