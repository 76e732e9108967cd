"""What a board says in a sentence: who wins, and how sure that is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from service.comparisons.figures import described
from service.leaderboards.pooling import RunResult
from service.leaderboards.schemas import Entry, Leaderboard, Overall
from service.pages import formats
from service.statistics.differences import pair

FEWEST = 3  # seeds of an entry, below which no order is told

Seeds = Mapping[str, Sequence[RunResult]]  # by fingerprint


@dataclass(frozen=True, slots=True)
class Verdict:
    """A claim, and what it rests on."""

    claim: str
    detail: str


def verdict(board: Leaderboard, seeds: Seeds) -> Verdict | None:
    """What a board's measured entries show; None if it has no entry at all."""
    measured = [entry for entry in board.entries if entry.source == "measured"]
    ranked = [entry for entry in measured if entry.tie_group is not None]
    if not measured:
        return _unmeasured(board)
    if not ranked:
        return _without_rank(measured)
    first, *others = ranked
    if not others:
        return Verdict(f"{_named(first)} is alone here:", f"{_worth(board, first)}; nothing to hold it against yet.")
    counted = {entry.fingerprint: _seeds_that_count(board, entry) for entry in (first, others[0])}
    if min(counted.values()) < FEWEST:
        told = " and ".join(
            f"{_named(entry)} has {_worth(board, entry)} over {formats.count(counted[entry.fingerprint], 'seed')}"
            for entry in (first, others[0])
        )
        return Verdict(
            "Too few seeds to rank:", f"{told}. {FEWEST} seeds each are the least that tells anything, 5 are better."
        )
    tied = [entry for entry in others if entry.tie_group == first.tie_group]
    if tied:
        return _ties(board, first, tied)
    if first.rank_ci and first.rank_ci[1] > 1:
        return _may_lead(board, first, first.rank_ci[1] - 1)
    return _leads(board, first, others[0], seeds)


def _seeds_that_count(board: Leaderboard, entry: Entry) -> int:
    """Of seconds those alone that were alone on their machine."""
    return entry.n_seeds - (entry.contended if board.rank_by == "seconds_to_target" else 0)


def ties(board: Leaderboard) -> list[str]:
    """Each group of entries that cannot be told apart, in words."""
    groups: dict[int, list[Entry]] = {}
    for entry in board.entries:
        if entry.tie_group is not None:
            groups.setdefault(entry.tie_group, []).append(entry)
    return [
        f"{formats.listed([_named(entry) for entry in group])}: no difference is shown"
        for group in groups.values()
        if len(group) > 1
    ]


def _unmeasured(board: Leaderboard) -> Verdict | None:
    published = [entry for entry in board.entries if entry.source == "published" and entry.value is not None]
    if published:
        best = published[0]
        return Verdict(
            "Only published numbers:",
            f"papers have {formats.count(len(published), 'result')}, the best {_worth(board, best)}"
            f" ({best.model or best.method}, {best.citation}); nothing is measured here yet.",
        )
    if board.entries:
        return Verdict("Only claims:", "they were measured elsewhere; no run of this service stands by them yet.")
    return None


def _without_rank(measured: Sequence[Entry]) -> Verdict:
    diverged = sum(entry.n_diverged for entry in measured)
    if all(entry.score is None for entry in measured):
        return Verdict("All entries diverged:", f"{formats.count(diverged, 'run')}, none with a finite result.")
    return Verdict("Nothing is ranked:", "every entry saw more than the board's budget, or ran on other hardware.")


def _ties(board: Leaderboard, first: Entry, tied: Sequence[Entry]) -> Verdict:
    names = formats.listed([_named(entry) for entry in tied])
    return Verdict(
        f"{_named(first)} has the best {'mean' if board.rank_by == 'metric' else 'time'}, and {names}"
        f" {'ties' if len(tied) == 1 else 'tie'} with it:",
        f"{_worth(board, first)}, but the seeds show no difference.",
    )


def _may_lead(board: Leaderboard, first: Entry, others: int) -> Verdict:
    be = "is" if others == 1 else "are"
    return Verdict(
        f"{_named(first)} has the best {'mean' if board.rank_by == 'metric' else 'time'}, and may not be first:",
        f"{_worth(board, first)}, but {formats.count(others, 'entry', 'entries')} {be} not shown to be worse.",
    )


def _leads(board: Leaderboard, first: Entry, second: Entry, seeds: Seeds) -> Verdict:
    claim = f"{_named(first)} is first, and nothing ties with it:"
    if board.rank_by != "metric":
        return Verdict(claim, f"{_worth(board, first)}; the next, {_named(second)}, needs {_worth(board, second)}.")
    values = [_converged(seeds.get(entry.fingerprint or "", ())) for entry in (first, second)]
    found = pair(*values)
    if found is None:
        return Verdict(claim, f"{_worth(board, first)}.")
    side = "above" if board.direction == "maximize" else "below"
    apart = formats.distance(found.mean, board.metric, board.unit)
    limits = sorted(map(abs, found.ci95)) if found.ci95 and found.ci95[0] * found.ci95[1] > 0 else found.ci95
    between = formats.difference_interval(limits, board.metric).replace("+", "")
    return Verdict(
        claim,
        f"{_worth(board, first)}, {apart} {side} the next, {_named(second)} (95% interval {between},"
        f" {formats.p_value(found.p_value)}, {formats.count(found.seeds, 'shared seed')}).",
    )


def _converged(results: Sequence[RunResult]) -> dict[int, float]:
    return {run.seed: run.converged for run in results if run.converged is not None}


def _named(entry: Entry) -> str:
    """The method, and what else tells the entry apart."""
    return f"{entry.method} ({described(entry.changes)})" if entry.changes else f"{entry.method}"


def _worth(board: Leaderboard, entry: Entry) -> str:
    """What ranks an entry, in words."""
    if board.rank_by == "metric":
        mean = entry.value.mean if entry.value else None
        return f"{formats.value(mean, board.metric)} test {board.metric.replace('_', ' ')}"
    by_steps = board.rank_by == "steps_to_target"
    times = entry.steps_to_target if by_steps else entry.seconds_to_target
    target = formats.level(board.target, board.metric)
    if times is None or times.median is None:
        return f"no {target} in half of its seeds"
    taken = f"{formats.steps(times.median)} steps" if by_steps else formats.seconds(times.median)
    return f"{taken} to {target}"


def nobody_wins(tasks: Sequence[str]) -> Verdict:
    """Where all entries of these tasks diverged, whatever they had reached before."""
    return Verdict(
        f"All entries of {formats.listed(tasks)} diverged:", "none has a finite result, so nobody wins overall."
    )


def overall_verdict(overall: Overall) -> Verdict | None:
    """Which method is nearly the fastest most often; None without any."""
    if not overall.methods or not overall.tasks:
        return None
    first, *others = overall.methods
    tasks = formats.count(len(overall.tasks), "task")
    worth = f"area {first.area:.3f} over {tasks}, the fastest of {first.fastest}"
    equal = [one.method for one in others if one.area == first.area]
    if equal:
        return Verdict(f"{formats.listed([first.method, *equal])} have the same area:", f"{worth}.")
    runner_up = f"; {others[0].method} has {others[0].area:.3f}" if others else ""
    claim = f"{first.method} is nearly the fastest most often:"
    if len(overall.tasks) < FEWEST:
        claim = f"Too few tasks to say who wins overall; {first.method} has the largest area:"
    return Verdict(claim, f"{worth}{runner_up}.")
