"""Overall board of methods over all tasks: how often a method is within a factor of the fastest method."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from normcore.problem import own_problem
from normcore.spec.task import ProfileName
from normcore.spec.tasks import BENCHMARKS
from service.leaderboards import schemas
from service.leaderboards.codes import PRESENT
from service.leaderboards.queries import older_on_board, rows_of
from service.leaderboards.ranked_board import hardware_of_most_entries
from service.leaderboards.ranking import TimeBy
from service.leaderboards.row import MeasuredEntry
from service.leaderboards.tables import Entry
from service.statistics.profiles import WIDEST, PerformanceProfile, flips, profiles

CAUTION = (
    "Ratios are to the fastest method of each task, so a third method can turn two others round (Gould and Scott 2016);"
    " compare two alone before you choose between them."
)

Times = dict[str, dict[str, float | None]]  # by method and task


class Default(NamedTuple):
    """Measurements of the methods' default specs on a task.

    Attributes:
        rows: the entry of each method.
        hardware: hardware on which most of these entries ran.
    """

    target: float
    rows: Mapping[str, MeasuredEntry]
    hardware: str | None

    def time(self, method: str, rank_by: TimeBy) -> float | None:
        """Median time. Seconds count only on the hardware that most methods ran on."""
        pooled = self.rows[method].pooled
        if rank_by == "steps_to_target":
            return pooled.steps.median
        return pooled.seconds.median if pooled.hardware == self.hardware else None


def version(session: Session, profile: ProfileName) -> tuple[int, int, str]:
    """Version of the overall board. It changes with each edit of the code, and with each run that a board of this
    profile gets.
    """
    counts = select(func.count(), func.coalesce(func.sum(Entry.n_runs + Entry.n_older), 0)).where(
        Entry.profile == profile
    )
    n_entries, n_runs = session.execute(counts).one()
    return n_entries, n_runs, PRESENT.version()


def overall(session: Session, profile: ProfileName, rank_by: TimeBy) -> schemas.Overall:
    """Overall board of a profile: all methods with an entry of their default spec on a task, the largest area first."""
    return overall_and_seeds(session, profile, rank_by)[0]


def overall_and_seeds(
    session: Session, profile: ProfileName, rank_by: TimeBy
) -> tuple[schemas.Overall, Mapping[str, int]]:
    """Overall board, and for each method the fewest seeds behind one of its times."""
    defaults = _defaults(session, profile)
    times: Times = {}
    for task, default in defaults.items():
        for method in default.rows:
            times.setdefault(method, {})[task] = default.time(method, rank_by)
    reached = {task: _find_least_time(times, task) for task in defaults}
    ranked = [task for task, least in reached.items() if math.isfinite(least)]
    seeds: dict[str, int] = {}
    for task in ranked:
        for method, row in defaults[task].rows.items():
            seeds[method] = min(_count_timed_seeds(row, rank_by), seeds.get(method, len(row.results)))
    found = schemas.Overall(
        profile=profile,
        rank_by=rank_by,
        widest=WIDEST,
        tasks=[
            schemas.RankedTask(task, default.target, reached[task], _hardware(default, rank_by))
            for task, default in defaults.items()
            if task in ranked
        ],
        left_out=list(_list_left_out(profile, defaults, ranked)),
        methods=_methods(times, ranked),
        caution=CAUTION,
        flips=flips(times),
    )
    return found, seeds


def _count_timed_seeds(row: MeasuredEntry, rank_by: TimeBy) -> int:
    """Number of an entry's seeds that have a time. For seconds, only seeds that were alone on their machine count."""
    return sum(rank_by == "steps_to_target" or not result.contended for result in row.results)


def _defaults(session: Session, profile: ProfileName) -> dict[str, Default]:
    """Read the entries of default specs, for each task with a target. Entries that differ from the profile, or are of
    older code, are not read in full.
    """
    columns = select(Entry.fingerprint, Entry.task, Entry.problem, Entry.changes).where(Entry.profile == profile)
    of_tasks: dict[str, list[str]] = {}
    for fingerprint, task, problem, changes in session.execute(columns.order_by(Entry.n_runs, Entry.fingerprint)):
        if not changes and task in BENCHMARKS and problem == own_problem(task, profile).id:
            of_tasks.setdefault(task, []).append(fingerprint)
    defaults = {}
    for task, benchmark in BENCHMARKS.items():
        target = benchmark.profiles[profile].training["target"]
        if task in of_tasks and target is not None:
            older = older_on_board(session, task, profile, own_problem(task, profile).id)
            wanted = [fingerprint for fingerprint in of_tasks[task] if fingerprint not in older]
            found = rows_of(session, wanted)
            rows = {row.method: row for row in (found[fingerprint] for fingerprint in wanted)}
            if rows:
                defaults[task] = Default(target, rows, hardware_of_most_entries(list(rows.values())))
    return defaults


def _find_least_time(times: Times, task: str) -> float:
    known = (own.get(task) for own in times.values())
    return min((time for time in known if time is not None), default=math.inf)


def _hardware(default: Default, rank_by: TimeBy) -> str | None:
    return default.hardware if rank_by == "seconds_to_target" else None


def _list_left_out(
    profile: ProfileName, defaults: Mapping[str, Default], ranked: Sequence[str]
) -> Iterator[schemas.LeftOut]:
    for task, benchmark in BENCHMARKS.items():
        if benchmark.profiles[profile].training["target"] is None:
            yield schemas.LeftOut(task, "no target")
        elif task not in defaults:
            yield schemas.LeftOut(task, "no entries")
        elif task not in ranked:
            yield schemas.LeftOut(task, "target not reached")


def _methods(times: Times, ranked: Sequence[str]) -> list[schemas.MethodProfile]:
    ratios = [ratio for found in profiles(times, ()).values() for ratio in found.ratios]
    taus = sorted({1.0, WIDEST, *(ratio for ratio in ratios if ratio < WIDEST)})
    found = profiles(times, taus)
    ordered = sorted(found, key=lambda method: (-found[method].area, method))
    areas = [found[method].area for method in ordered]
    return [
        _method(method, 1 + areas.index(found[method].area), found[method], taus, times[method], ranked)
        for method in ordered
    ]


def _method(
    method: str,
    rank: int,
    found: PerformanceProfile,
    taus: Sequence[float],
    times: Mapping[str, float | None],
    ranked: Sequence[str],
) -> schemas.MethodProfile:
    return schemas.MethodProfile(
        rank=rank,
        method=method,
        area=found.area,
        fastest=sum(ratio == 1 for ratio in found.ratios),
        times={task: times.get(task) for task in ranked},
        ratios={
            task: ratio if math.isfinite(ratio) else None
            for task, ratio in zip(sorted(ranked), found.ratios, strict=True)
        },
        profile=list(zip(taus, found.rho, strict=True)),
        untried=[task for task in ranked if task not in times],
    )
