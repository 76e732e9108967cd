"""Cost of a method in trainings on the boards: time of a step, and time to the target, compared with ``none``.

The baseline has the same setting, so both trained the same model. Only runs that were alone on their machine count.
"""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Literal

from scipy.special import stdtrit
from sqlalchemy.orm import Session

from normcore.spec import resolve
from service.leaderboards import queries as leaderboards
from service.leaderboards.queries import BoardRequest
from service.report_cards.queries import PlaceOnBoard
from service.statistics.values import Interval

FEWEST_BOARDS = 3  # for an interval of the mean over boards
LEVEL = 0.95
BASELINE = "none"


@dataclass(frozen=True, slots=True)
class BoardCost:
    """Cost of a method on a board, compared with the baseline of the same setting.

    Attributes:
        cell: recurrent cell of the entry's model; None for a model without a cell.
        step: time of a training step, divided by the baseline's.
        sooner: the baseline's seconds to the target, divided by the method's; with its interval.
        bound: whether ``sooner`` is only a bound, because a seed missed the target.
        name: name of the entry.
    """

    task: str
    profile: str
    problem: str
    cell: str | None
    name: str
    step: float
    sooner: float
    ci95: Interval | None
    bound: Literal["at least", "at most"] | None


@dataclass(frozen=True, slots=True)
class MeanRatio:
    """Geometric mean of a ratio over boards.

    Attributes:
        ci95: its interval, with boards as the sample; None for fewer than ``FEWEST_BOARDS``.
    """

    mean: float
    boards: int
    ci95: Interval | None


def board_costs(session: Session, places: Sequence[PlaceOnBoard]) -> list[BoardCost]:
    """Read the costs of a method on the boards that know both its seconds and the baseline's."""
    found = []
    for board, entry in places:
        speedup = entry.speedup
        if entry.method == BASELINE or speedup is None or not speedup.seconds or not speedup.steps:
            continue
        by_seconds = leaderboards.leaderboard(
            session,
            BoardRequest(board.task, board.profile, board.problem.id, best=True, rank_by="seconds_to_target"),  # type: ignore[arg-type]
        )
        timed = next((one for one in by_seconds.entries if one.fingerprint == entry.fingerprint), entry)
        found.append(
            BoardCost(
                task=board.task,
                profile=board.profile,
                problem=board.problem.id,
                cell=_cell(board.task, board.profile, entry.changes),
                name=entry.name,
                step=speedup.steps / speedup.seconds,
                sooner=speedup.seconds,
                ci95=timed.speedup.ci95 if timed.speedup else None,
                bound=speedup.bound,
            )
        )
    return found


def _cell(task: str, profile: str, changes: dict[str, object]) -> str | None:
    """Recurrent cell of an entry: its own, or its profile's."""
    cell = changes.get("model.cell", _usual_cell(task, profile))
    return cell if isinstance(cell, str) else None


@cache
def _usual_cell(task: str, profile: str) -> str | None:
    spec = resolve({"task": {"name": task, "profile": profile}})
    return getattr(spec.model, "cell", None)


def mean_ratio(ratios: Sequence[float]) -> MeanRatio | None:
    """Geometric mean of ratios, with a t interval of their logarithms; None without ratios."""
    if not ratios:
        return None
    logs = [math.log(ratio) for ratio in ratios]
    mean, n = statistics.fmean(logs), len(logs)
    if n < FEWEST_BOARDS:
        return MeanRatio(math.exp(mean), n, None)
    half = statistics.stdev(logs) / math.sqrt(n) * float(stdtrit(n - 1, (1 + LEVEL) / 2))
    return MeanRatio(math.exp(mean), n, (math.exp(mean - half), math.exp(mean + half)))
