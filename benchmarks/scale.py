"""Time of reads, and of the end of a run, with 100,000 runs and 10 million measurements, on SQLite and PostgreSQL.

Rows are inserted into the tables; ``entries.refresh`` of the service then pools the entries. One fingerprint has 3,000
experiments, and one run has a curve of 25,000 points. The same calls are measured with a tenth of the runs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

import sqlalchemy
from sqlalchemy import insert, literal, make_url, select, text, true, union_all
from sqlalchemy.orm import Session

from benchmarks import leaderboard, mlflow, ours
from benchmarks.browser import first_paints
from benchmarks.load import Connection, get
from benchmarks.number import Number, Target, number, percentile
from normcore.events import Started
from normcore.spec import digest, resolve
from service import results
from service.db import Database
from service.experiments import lifecycle, submission
from service.experiments.machines import Start
from service.experiments.tables import Measurement, Run
from service.leaderboards.tables import Entry
from service.processes.startup import prepare
from service.settings import Settings
from tests.servers import private_postgres

TENTH, WHOLE = 1, 10  # experiments of each entry of the board
STEPS, SERIES = 50, ("train.loss", "valid.accuracy")  # each series of a run has STEPS measurements
LONG_CURVE = 25_000
OF_ONE_FINGERPRINT = 3_000
ROUNDS, ENDS = 60, 40
TOGETHER = 200  # runs whose measurements one statement stores
BOARD = "/v1/leaderboards/permuted_digits?profile=small"


@dataclass(frozen=True, slots=True)
class FilledDatabase:
    """Filled database, with ids of some rows that the calls ask for."""

    url: str
    experiment: str
    run: str
    long_run: str
    fingerprints: tuple[str, str]

    @property
    def calls(self) -> dict[str, tuple[str, float]]:
        """Calls by name: the path, and the milliseconds that 95 of 100 answers must stay below."""
        first, second = self.fingerprints
        return {
            "board, JSON": (BOARD, 50),
            "curve of 25,000 points": (f"/v1/runs/{self.long_run}/measurements?series=train.loss&max_points=500", 30),
            "page of the board": ("/boards/permuted_digits?profile=small", 150),
            "page of the overview": ("/", 150),
            "page of the experiments": ("/experiments", 150),
            "page of an experiment": (f"/experiments/{self.experiment}", 150),
            "page of a run": (f"/runs/{self.run}", 150),
            "page of a comparison": (f"/compare?fingerprint={first}&fingerprint={second}", 150),
        }


def measure(scratch: Path) -> list[Number]:
    """Measure SQLite, then PostgreSQL."""
    with mlflow.server(scratch / "mlflow") as tracking:
        if tracking is not None:
            leaderboard.fill_mlflow(tracking)
        numbers = _on("SQLite", _sqlite(scratch), scratch, tracking)
        with private_postgres() as url:
            numbers += _on("PostgreSQL", _databases(url), scratch, tracking)
    return numbers


def _sqlite(scratch: Path) -> Iterator[str]:
    yield f"sqlite:///{scratch / 'tenth.db'}"
    yield f"sqlite:///{scratch / 'whole.db'}"


def _databases(server: str) -> Iterator[str]:
    """Yield the URLs of two PostgreSQL databases: a new one, then the server's maintenance database."""
    yield _new_database(server, "tenth")
    yield server


def _on(backend: str, urls: Iterator[str], scratch: Path, tracking: int | None) -> list[Number]:
    tenth, whole = (fill(scratch, url, experiments) for url, experiments in zip(urls, (TENTH, WHOLE), strict=True))
    numbers = [_ends_of_runs(backend, scratch, whole.url)]
    with (
        ours.api(scratch / "api", database_url=tenth.url) as small,
        ours.api(scratch / "api", database_url=whole.url) as large,
    ):
        for name, (path, limit) in whole.calls.items():
            numbers += _read(f"{backend}: {name}", path, tenth.calls[name][0], limit, small, large, tracking)
        numbers += [
            Number(f"{backend}: first paint of {path}", "ms", paint, target=Target("ours", "under", 1000))
            for path, paint in first_paints(large, ["/", whole.calls["page of the board"][0]])
        ]
    return numbers


def _read(
    name: str,
    path: str,
    of_tenth: str,
    limit: float,
    small: int,
    large: int,
    tracking: int | None,
) -> list[Number]:
    """Time of one call with all runs and with a tenth of the runs; for the board's JSON also compared with MLflow."""
    asked = {"whole": (Connection(large), get(path)), "tenth": (Connection(small), get(of_tenth))}
    if tracking is not None and path == BOARD:
        asked["mlflow"] = (Connection(tracking), leaderboard.SEARCH)
    took: dict[str, list[float]] = {which: [] for which in ("whole", "tenth", "mlflow")}
    for connection, request in asked.values():
        connection.send(request)  # not counted, as it fills caches
    for _ in range(ROUNDS):
        for which, (connection, request) in asked.items():
            took[which].append(1000 * connection.timed(request))
    p95 = percentile(95)
    numbers = [
        number(f"{name}, p95", "ms", took["whole"], statistic=p95, target=Target("ours", "under", limit)),
        number(
            f"{name}, growth",
            "ms",
            took["whole"],
            versus="10,000 runs",
            theirs=took["tenth"],
            target=Target("ratio", "at most", 3),
        ),
    ]
    if took["mlflow"]:
        versus = f"MLflow search, {leaderboard.MLFLOW_PAGE} of {leaderboard.MLFLOW_RUNS} runs"
        numbers.append(
            number(
                name, "ms", took["whole"], versus=versus, theirs=took["mlflow"], target=Target("ratio", "at most", 0.1)
            )
        )
    return numbers


def _new_database(server: str, name: str) -> str:
    engine = sqlalchemy.create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return make_url(server).set(database=name).render_as_string(hide_password=False)


def fill(scratch: Path, url: str, experiments: int, steps: int | None = None) -> FilledDatabase:
    """Make a database with a board of 1,000 entries and the measurements of all runs.

    Args:
        url: URL of an empty database.
        experiments: number of experiments of each entry.
        steps: measurements of each series of a run; None for ``STEPS``, and one curve of ``LONG_CURVE`` points.
    """
    db = leaderboard.fill(Settings(data_dir=scratch / "data", database_url=url), experiments)
    with db.transaction() as session:
        _measure_runs(session, steps or STEPS, session.scalars(select(Run.id)).all())
        first, second = session.scalars(select(Entry.fingerprint).order_by(Entry.fingerprint).limit(2)).all()
        run, long_run = session.execute(select(Run.id, Run.experiment_id).order_by(Run.id).limit(2)).all()
        if steps is None:
            _measure_runs(session, LONG_CURVE, [long_run.id], after=STEPS)
        filled = FilledDatabase(url, run.experiment_id, run.id, long_run.id, (first, second))
    db.close()
    return filled


def _measure_runs(session: Session, steps: int, runs: Sequence[str], after: int = 0) -> None:
    """Let the database itself insert rows of all series at each step, a few runs in one statement."""
    counted = select(literal(1 + after).label("step")).cte(recursive=True)
    counted = counted.union_all(select(counted.c.step + 1).where(counted.c.step < steps))
    named = union_all(*(select(literal(series).label("series")) for series in SERIES)).subquery()
    step = counted.c.step
    columns = ["run_id", "step", "series", "value", "seconds", "attempt"]
    for first in range(0, len(runs), TOGETHER):
        of_runs = select(Run.id).where(Run.id.in_(runs[first : first + TOGETHER])).subquery()
        every = of_runs.join(counted, true()).join(named, true())
        rows = select(of_runs.c.id, step, named.c.series, 0.5 + 0.001 * (step % 97), 0.05 * step, 1).select_from(every)
        session.execute(insert(Measurement).from_select(columns, rows))


def _ends_of_runs(backend: str, scratch: Path, url: str) -> Number:
    """Time of the end of a run, pooling included. The run's fingerprint has 3,000 experiments."""
    db = prepare(Settings(data_dir=scratch / "data", database_url=url))
    body = {"task": {"name": "permuted_digits", "profile": "smoke"}, "norm": {"method": "layer_norm"}, "priority": 9}
    with db.transaction() as session:
        for _ in range(OF_ONE_FINGERPRINT):
            submission.submit(session, resolve(body), memory_bytes=None, request_digest=digest(body))
    took = [_seconds_of_an_end(db) for _ in range(OF_ONE_FINGERPRINT)][-ENDS:]
    db.close()
    milliseconds = [1000 * seconds for seconds in took]
    return number(f"{backend}: end of a run", "ms", milliseconds, target=Target("ours", "under", 20))


def _seconds_of_an_end(db: Database) -> float:
    with db.transaction() as session:
        claim = lifecycle.claim(session, queues=["auto"], worker_id="wrk_bench", lease_seconds=60, fused=False)
        assert claim is not None
        environment = {"host": "here", "cpu": "a processor", "threads": 1}
        start = Start.of(environment).add_probe(leaderboard.PROBE)
        begun = Started(0, 40, "reference", 1, environment)
        lifecycle.start(session, claim.lease, begun, device="cpu", resumed_from=None)
    began = perf_counter()
    with db.transaction() as session:
        results.finish(session, claim.lease, "reached_target", leaderboard.result(0.8, 120.0), leaderboard.SPENT, start)
    return perf_counter() - began
