"""Read entries and their curves, and compare them."""

from collections.abc import Mapping, Sequence
from typing import cast

from sqlalchemy import select
from sqlalchemy.orm import Session

from normcore.problem import own_budget
from normcore.spec import SpecError
from normcore.spec.messages import choose, quote_value
from normcore.spec.metric import Direction, Metric
from normcore.spec.task import ProfileName
from normcore.spec.tasks import BENCHMARKS
from normcore.target import Point
from service.comparisons import schemas
from service.comparisons.outcomes import EntryOutcome, outcomes
from service.errors import Invalid, NotFound
from service.experiments.downsampling import downsample
from service.experiments.queries import AFTER_HEX, metric_of
from service.experiments.tables import Measurement
from service.leaderboards import codes
from service.leaderboards import queries as leaderboards
from service.leaderboards.entry import MIXED, RunResult, converged_values, on, spans_of, times_of
from service.leaderboards.row import MeasuredEntry
from service.leaderboards.tables import Entry
from service.statistics.curves import Band, by_seconds, by_steps, means
from service.statistics.differences import pair
from service.statistics.speedups import Ratio, speedup
from service.statistics.times import survival, to_baselines_best
from service.statistics.values import UNLIMITED, Limits

MAX_POINTS = 1000  # of a curve

Curves = Mapping[int, Sequence[Point]]  # by seed


def comparison(
    session: Session, fingerprints: Sequence[str], baseline: str | None, series: str | None
) -> schemas.Comparison:
    """Compare entries of one board.

    Args:
        fingerprints: fingerprints of the entries, or the first characters of each.
        baseline: fingerprint of the baseline; None for the first entry without normalization, or else the first entry.
        series: series of the curves; None for the metric that ranks, on validation data.

    Raises:
        NotFound: no entry has such a fingerprint.
        Invalid: two fingerprints are of one entry, or of different boards; an entry is of older code than its board;
            the baseline is not among the entries; or no entry has the series.
    """
    entries = [_entry(session, given) for given in fingerprints]
    first = entries[0]
    _check_alike(entries)
    against = _baseline(entries, baseline)
    metric = BENCHMARKS[first.task].metric()
    shown = series or f"valid.{metric.name}"
    rows = _rows(session, entries)
    curves = [_curves(session, row.results, shown) for row in rows]
    if not any(any(own.values()) for own in curves):
        _no_series(session, rows, shown)
    measured = metric_of(shown)
    direction = measured.direction if measured else None
    limits = Limits.of(measured) if measured else UNLIMITED
    k, budget = entries.index(against), own_budget(first.task, cast(ProfileName, first.profile))
    judged = outcomes(rows, rows[k], budget, metric.direction)
    return schemas.Comparison(
        task=first.task,
        profile=first.profile,
        problem=leaderboards.shown_problem(first.task, first.profile, first.problem, first.options),
        baseline=against.fingerprint,
        series=shown,
        unit=measured.unit if measured else "",
        direction=direction,
        target=BENCHMARKS[first.task].profiles[cast(ProfileName, first.profile)].training["target"],
        entries=[
            _compare_entry(row, own, found, None if j == k else (rows[k], curves[k]), metric, limits, direction)
            for j, (row, own, found) in enumerate(zip(rows, curves, judged, strict=True))
        ],
    )


def board_of(session: Session, fingerprints: Sequence[str]) -> tuple[str, ProfileName]:
    """Find the task and the profile of entries that can be compared.

    Raises:
        NotFound, Invalid: as ``comparison`` does.
    """
    entries = [_entry(session, given) for given in fingerprints]
    _check_alike(entries)
    return entries[0].task, cast(ProfileName, entries[0].profile)


def read_curves(session: Session, fingerprints: Sequence[str]) -> list[schemas.EntryCurves]:
    """Read the curves of entries of one task: the metric that ranks, on validation data.

    Args:
        fingerprints: full fingerprints of the entries; a fingerprint without an entry is left out.
    """
    found = leaderboards.rows_of(session, fingerprints)
    return [_read_curves_of_entry(session, found[fingerprint]) for fingerprint in fingerprints if fingerprint in found]


def _read_curves_of_entry(session: Session, row: MeasuredEntry) -> schemas.EntryCurves:
    metric = BENCHMARKS[row.task].metric()
    own, limits = _curves(session, row.results, f"valid.{metric.name}"), Limits.of(metric)
    return schemas.EntryCurves(
        fingerprint=row.fingerprint,
        method=row.method,
        changes=row.changes,
        curve=_by_steps(own, limits),
        curve_by_seconds=_curve(by_seconds(own, limits=limits)),
        first_end=min((points[-1].step for points in own.values() if points), default=0),
        n_seeds=len(row.results),
        n_diverged=sum(result.diverged for result in row.results),
    )


def _entry(session: Session, given: str) -> Entry:
    found = session.scalars(select(Entry).where(Entry.fingerprint.between(given, given + AFTER_HEX)).limit(2)).all()
    if not found:
        raise NotFound(
            f"no entry has a fingerprint that begins with {given}: none of its runs has succeeded; "
            "GET /v1/leaderboards/{task} shows the fingerprints of a board"
        )
    if len(found) > 1:
        wrong = f"several entries have fingerprints that begin with {given}; give more characters"
        raise Invalid([SpecError(("fingerprint",), wrong, "ambiguous")])
    return found[0]


def _check_alike(entries: Sequence[Entry]) -> None:
    """Check that the entries differ and are of one board.

    Raises:
        Invalid: two fingerprints are of one entry, or of different boards.
    """
    boards = {(entry.task, entry.profile, entry.problem) for entry in entries}
    if len(boards) > 1:
        told = " and ".join(sorted(f"{task} ({profile}, problem {problem})" for task, profile, problem in boards))
        wrong = f"the entries are of different boards and do not compare: {told}; choose entries of one board"
        raise Invalid([SpecError(("fingerprint",), wrong, "unlike")])
    if len({entry.fingerprint for entry in entries}) < max(2, len(entries)):
        raise Invalid([SpecError(("fingerprint",), "give two or more different fingerprints", "too_few")])


def _rows(session: Session, entries: Sequence[Entry]) -> list[MeasuredEntry]:
    """Read the rows of entries of one board.

    Raises:
        Invalid: an entry is of older code, so that its board does not rank it.
    """
    first = entries[0]
    older = leaderboards.older_on_board(session, first.task, first.profile, first.problem)
    wrong = [
        f"{entry.fingerprint[:8]} is of an older {codes.NAMES[older[entry.fingerprint][0]]} than others of its board;"
        " submit it again"
        for entry in entries
        if entry.fingerprint in older
    ]
    if wrong:
        raise Invalid([SpecError(("fingerprint",), "; ".join(wrong), "older_code")])
    found = leaderboards.rows_of(session, [entry.fingerprint for entry in entries])
    return [found[entry.fingerprint] for entry in entries]


def _baseline(entries: Sequence[Entry], given: str | None) -> Entry:
    if given is None:
        return next((entry for entry in entries if entry.method == "none"), entries[0])
    for entry in entries:
        if entry.fingerprint.startswith(given):
            return entry
    raise Invalid([SpecError(("baseline",), "expected one of the fingerprints that are compared", "unknown_baseline")])


def _curves(session: Session, results: Sequence[RunResult], series: str) -> Curves:
    """Read all points of each seed's curve. Thinned curves would have steps that are not common to all seeds."""
    of_run = {result.run_id: result.seed for result in results}
    curves: dict[int, list[Point]] = {result.seed: [] for result in results}
    columns = (Measurement.run_id, Measurement.step, Measurement.value, Measurement.seconds)
    wanted = select(*columns).where(Measurement.run_id.in_(of_run), Measurement.series == series)
    rows = session.connection().execute(wanted.order_by(Measurement.run_id, Measurement.step))
    for run_id, step, value, seconds in rows.all():
        curves[of_run[run_id]].append(Point(step, value, seconds))
    return curves


def _no_series(session: Session, rows: Sequence[MeasuredEntry], series: str) -> None:
    """Refuse a series that no entry has.

    Raises:
        Invalid: always; the error lists the series that the entries have.
    """
    runs = [result.run_id for row in rows for result in row.results]
    known = session.scalars(select(Measurement.series).where(Measurement.run_id.in_(runs)).distinct()).all()
    wrong = f"no entry here has the series {quote_value(series)}; {choose(series, sorted(known))}"
    raise Invalid([SpecError(("series",), wrong, "unknown_series")])


def _compare_entry(
    row: MeasuredEntry,
    curves: Curves,
    found: EntryOutcome,
    against: tuple[MeasuredEntry, Curves] | None,
    metric: Metric,
    limits: Limits,
    direction: Direction | None,
) -> schemas.ComparedEntry:
    """Compare an entry with the baseline.

    Args:
        against: row and curves of the baseline; None if the entry is the baseline.
        metric: the metric that ranks.
        limits, direction: bounds and direction of the curves' values.
    """
    of_seed = {result.seed: result.run_id for result in row.results}
    rank = found.rank
    return schemas.ComparedEntry(
        fingerprint=row.fingerprint,
        method=row.method,
        changes=row.changes,
        kernel=row.pooled.kernel,
        hardware=row.pooled.hardware,
        seeds=list(of_seed),
        n_diverged=row.pooled.n_diverged,
        budget=row.budget,
        over_budget=rank is None,
        score=row.pooled.score,
        rank=rank and rank.rank,
        rank_ci=rank and rank.rank_ci,
        tie_group=rank and rank.tie_group,
        above=dict(found.above),
        outcome=found.outcome if against else None,
        value=row.pooled.value,
        gap=row.pooled.gap,
        curve=_by_steps(curves, limits),
        curve_by_seconds=_curve(by_seconds(curves, limits=limits)),
        runs=[
            schemas.ComparedRun(of_seed[seed], seed, downsample(points, MAX_POINTS)) for seed, points in curves.items()
        ],
        difference=_difference(row, against[0], metric, found.p_holm) if against else None,
        speedup=_split(row, curves, *against, direction) if against else None,
        survival=_survival(row.results),
    )


def _by_steps(curves: Curves, limits: Limits) -> schemas.Curve:
    """Mean curve of the seeds, thinned to the steps that are shown. These steps are the same for all seeds."""
    shown = {step for step, _, _ in downsample(means(curves), MAX_POINTS)}
    return _curve(by_steps(curves, shown, limits))


def _curve(bands: Sequence[Band]) -> schemas.Curve:
    return schemas.Curve(
        steps=[band.step for band in bands],
        seconds=[band.seconds for band in bands],
        mean=[band.mean for band in bands],
        low=[band.low for band in bands],
        high=[band.high for band in bands],
        n=[band.n for band in bands],
    )


def _difference(row: MeasuredEntry, against: MeasuredEntry, metric: Metric, p_holm: float) -> schemas.Difference | None:
    ours, theirs = (converged_values(own.results) for own in (row, against))
    found = pair(ours, theirs, Limits.of(metric))
    if found is None:
        return None
    return schemas.Difference(found.mean, found.ci95, found.p_value, p_holm, sorted(ours.keys() & theirs.keys()))


def _split(
    row: MeasuredEntry, curves: Curves, against: MeasuredEntry, theirs: Curves, direction: Direction | None
) -> schemas.Split:
    alike = row.pooled.hardware == against.pooled.hardware and row.pooled.kernel == against.pooled.kernel != MIXED
    timed = [on(own.pooled.hardware, own.results) if alike else [] for own in (against, row)]
    found = speedup(*map(spans_of, timed))
    steps = found if found.steps else speedup(spans_of(against.results), spans_of(row.results))
    return schemas.Split(
        steps=_ratio(steps.steps),
        seconds_per_step=_ratio(found.seconds_per_step),
        total=_ratio(found.total),
        bound=steps.bound,
        to_baselines_best=_fraction(theirs, curves, direction, own_best=False),
        own_best=_fraction(theirs, curves, direction, own_best=True),
    )


def _ratio(found: Ratio | None) -> schemas.Ratio:
    return schemas.Ratio(*found) if found else schemas.Ratio(None, None)


def _fraction(theirs: Curves, ours: Curves, direction: Direction | None, *, own_best: bool) -> schemas.Fraction | None:
    found = to_baselines_best(theirs, ours, direction, own_best=own_best) if direction else None
    return schemas.Fraction(*found) if found else None


def _survival(results: Sequence[RunResult]) -> list[tuple[float, float, float, float]]:
    """Survival from the start to the end of the longest run: a row at each step where another seed reaches the
    target.
    """
    runs = times_of(results, "steps").values()
    if not runs:
        return []
    reached = sorted(run.time for run in runs if run.reached)
    at = sorted({0.0, *reached, max(run.time for run in runs)})
    return [(step, *survival(len(runs) - sum(time <= step for time in reached), len(runs))) for step in at]
