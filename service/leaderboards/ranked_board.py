"""Ranking of a board: from its rows to its entries. Nothing is read from the database here."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from normcore.spec.metric import Metric
from normcore.target import Time
from service.leaderboards.entry import MIXED, PooledTimes, on, spans_of
from service.leaderboards.ranking import (
    RankBy,
    key_of_time,
    rank_by_time,
    rank_by_value,
    tau_of_seconds,
    tau_of_steps,
)
from service.leaderboards.row import MeasuredEntry
from service.leaderboards.schemas import Entry, Speedup, TimeToTarget
from service.leaderboards.seeds import are_too_few, that_count
from service.statistics.order import Key, RankEstimate, key_of, rank_beside
from service.statistics.speedups import SpeedupEstimate, speedups
from service.statistics.times import restricted_mean


class Older(NamedTuple):
    """A row of older code, and the parts of its spec for which the board has newer code."""

    row: MeasuredEntry
    parts: list[str]


class Rules(NamedTuple):
    """Rules of a board, as the request asks for them.

    Attributes:
        budget: number of examples that a ranked training may see.
        rank_over_budget: whether entries that saw more examples get ranks, too.
    """

    metric: Metric
    budget: int
    rank_by: RankBy
    baseline: str
    rank_over_budget: bool


class Candidate(NamedTuple):
    """Entry among which the best entry of a method is chosen."""

    fingerprint: str
    method: str
    budget: int
    valid_value: float | None


def best_of_each_method(candidates: Iterable[Candidate], metric: Metric, budget: int) -> dict[str, int]:
    """Choose for each method the entry with the best validation value, among its entries within the budget.

    Returns:
        For each chosen entry, by fingerprint, the number of entries among which it was chosen.
    """
    best: dict[str, Candidate] = {}
    counts: dict[str, int] = {}
    for one in candidates:
        if one.budget > budget:
            continue
        counts[one.method] = counts.get(one.method, 0) + 1
        if one.method not in best or _is_better(one.valid_value, best[one.method].valid_value, metric):
            best[one.method] = one
    return {one.fingerprint: counts[method] for method, one in best.items()}


def _is_better(value: float | None, than: float | None, metric: Metric) -> bool:
    return value is not None and (than is None or metric.is_better(value, than=than))


def hardware_of_most_entries(rows: Sequence[MeasuredEntry]) -> str | None:
    """Hardware of most entries; of several with equally many entries, the first by name."""
    known = [row.pooled.hardware for row in rows if row.pooled.hardware is not None]
    return min(set(known), key=lambda name: (-known.count(name), name), default=None)


class _Scale(NamedTuple):
    """Sort key of a board, and the entries that it ranks.

    Attributes:
        tau_steps, tau_seconds: times at which restricted means cut longer times.
    """

    rules: Rules
    hardware: str | None
    tau_steps: float | None
    tau_seconds: float | None

    def counts(self, row: MeasuredEntry) -> bool:
        """Tell if the row takes part in the ranking: within the budget, and by seconds on the board's hardware."""
        return row.budget <= self.rules.budget and self.compares(row)

    def compares(self, row: MeasuredEntry) -> bool:
        return self.rules.rank_by != "seconds_to_target" or row.pooled.hardware == self.hardware is not None

    def key(self, row: MeasuredEntry) -> Key | None:
        if self.rules.rank_by == "metric":
            return key_of(row.pooled.score, self.rules.metric.direction)
        if self.rules.rank_by == "steps_to_target":
            return key_of_time(row.pooled.steps, self.tau_steps)
        return key_of_time(row.pooled.seconds, self.tau_seconds)

    def ranks(self, rows: Sequence[MeasuredEntry], keys: Sequence[Key | None]) -> Sequence[RankEstimate]:
        if self.rules.rank_by == "metric":
            return rank_by_value(keys, [row.results for row in rows], self.rules.metric.direction)
        if self.rules.rank_by == "steps_to_target":
            return rank_by_time(keys, [row.results for row in rows], "steps")
        return rank_by_time(keys, [on(self.hardware, row.results) for row in rows], "seconds")


def _scale(rows: Sequence[MeasuredEntry], rules: Rules) -> _Scale:
    hardware = hardware_of_most_entries(rows)
    within = [row.results for row in rows if row.budget <= rules.budget]
    return _Scale(rules, hardware, tau_of_steps(within), tau_of_seconds([on(hardware, results) for results in within]))


def rank_entries(
    rows: Sequence[MeasuredEntry], beside: Sequence[Entry], rules: Rules, older: Sequence[Older] = ()
) -> list[Entry]:
    """All entries, best first. Entries from elsewhere, or over the budget, get the rank that they would have. Other
    ranks do not change.

    Args:
        beside: entries from elsewhere: papers' numbers and submitted results.
        older: rows of older code, which get no rank.
    """
    scale = _scale(rows, rules)
    counted = [row for row in rows if scale.counts(row)]
    keys = [scale.key(row) for row in counted]
    ranks = {row.fingerprint: rank for row, rank in zip(counted, scale.ranks(counted, keys), strict=True)}
    found = _speedups(rows, _baselines(rows, rules), rules)
    entries = []
    for row in rows:
        entry, key = _entry(row, scale, found.get(row.fingerprint)), scale.key(row)
        if row.fingerprint in ranks:
            entry.rank, entry.rank_ci, entry.tie_group = ranks[row.fingerprint]
            entry.too_few_seeds = entry.tie_group is not None and are_too_few(that_count(entry, rules.rank_by))
        elif rules.rank_over_budget and scale.compares(row):
            entry.rank = rank_beside(key, keys)
        entries.append((entry, key))
    for row, parts in older:
        entry = _entry(row, scale, None)
        entry.of_older_code, entry.older_parts = True, parts
        entries.append((entry, scale.key(row)))
    for entry in beside:
        key = key_of(entry.score, rules.metric.direction) if rules.rank_by == "metric" else None
        may_rank = key is not None and (rules.rank_over_budget or not entry.over_budget)
        entry.rank = rank_beside(key, keys) if may_rank else None
        entries.append((entry, key))
    return [entry for entry, _ in sorted(entries, key=_build_sort_key)]


def _build_sort_key(entry_and_key: tuple[Entry, Key | None]) -> tuple[Any, ...]:
    """Sort key: by rank, and entries without a rank last. Within a rank the better entry comes first, and equal entries
    of one tie group stand together.
    """
    entry, key = entry_and_key
    worth = (entry.rank is None, entry.rank or 0, key is None, key or ())
    return (*worth, entry.tie_group or 0, entry.method or "", entry.fingerprint or "")


def _baselines(rows: Sequence[MeasuredEntry], rules: Rules) -> dict[str, MeasuredEntry]:
    """Best entry of the baseline method for each setting (a spec without its norm)."""
    best: dict[str, MeasuredEntry] = {}
    for row in rows:
        if row.method != rules.baseline or row.pooled.score is None:
            continue
        known = best.get(row.setting)
        if known is None or rules.metric.is_better(row.pooled.score, than=known.pooled.score or 0.0):
            best[row.setting] = row
    return best


def _speedups(
    rows: Sequence[MeasuredEntry], baselines: Mapping[str, MeasuredEntry], rules: Rules
) -> dict[str, Speedup]:
    """Speed-ups by fingerprint, for the entries that have a baseline in their setting."""
    compared = [(baselines[row.setting], row) for row in rows if row.setting in baselines]
    of_all = speedups([(spans_of(against.results), spans_of(row.results)) for against, row in compared])
    steps = {row.fingerprint: found for (_, row), found in zip(compared, of_all, strict=True)}
    timed = [pair for pair in compared if _seconds_compare(*pair)]
    seconds = {row.fingerprint: steps[row.fingerprint] for _, row in timed}
    some = [(against, row) for against, row in timed if not (_all_timed(against) and _all_timed(row))]
    of_some = speedups([_pick_times(*pair) for pair in some])
    seconds |= {row.fingerprint: found for (_, row), found in zip(some, of_some, strict=True)}
    return {name: _speedup(found, seconds.get(name), rules) for name, found in steps.items()}


def _seconds_compare(against: MeasuredEntry, row: MeasuredEntry) -> bool:
    ours, theirs = row.pooled, against.pooled
    return theirs.kernel == ours.kernel != MIXED and theirs.hardware == ours.hardware


def _all_timed(row: MeasuredEntry) -> bool:
    return len(on(row.pooled.hardware, row.results)) == len(row.results)


def _pick_times(against: MeasuredEntry, row: MeasuredEntry) -> tuple[Mapping[int, Time], Mapping[int, Time]]:
    """Times of two entries by seed, only from runs with seconds that compare."""
    hardware = row.pooled.hardware
    return spans_of(on(hardware, against.results)), spans_of(on(hardware, row.results))


def _speedup(steps: SpeedupEstimate, seconds: SpeedupEstimate | None, rules: Rules) -> Speedup:
    """Speed-up in both units. If only one of the two ratios is a bound, show only the ratio that ranks this board."""
    by_seconds = rules.rank_by == "seconds_to_target"
    of_steps, of_seconds = steps.steps, seconds.total if seconds else None
    if seconds is not None and seconds.bound != steps.bound:
        of_steps, of_seconds = (None, of_seconds) if by_seconds else (of_steps, None)
    shown = of_seconds if by_seconds else of_steps
    return Speedup(
        baseline=rules.baseline,
        steps=of_steps.ratio if of_steps else None,
        seconds=of_seconds.ratio if of_seconds else None,
        ci95=shown.ci95 if shown else None,
        bound=seconds.bound if by_seconds and seconds else steps.bound,
    )


def _entry(row: MeasuredEntry, scale: _Scale, speedup: Speedup | None) -> Entry:
    pooled = row.pooled
    return Entry(
        method=row.method,
        source="measured",
        fingerprint=row.fingerprint,
        budget=row.budget,
        over_budget=row.budget > scale.rules.budget,
        changes=row.changes,
        kernel=pooled.kernel,
        hardware=pooled.hardware,
        code=row.code,
        n_runs=row.n_runs,
        n_older=row.n_older,
        n_seeds=pooled.n_seeds,
        n_diverged=pooled.n_diverged,
        diverged_ci95=pooled.diverged_ci95,
        score=pooled.score,
        value=pooled.value,
        valid_value=pooled.valid_value,
        gap=pooled.gap,
        values=pooled.values,
        conflicting_seeds=row.conflicting_seeds,
        contended=pooled.contended,
        steps_to_target=_time(pooled.steps, scale.tau_steps),
        seconds_to_target=_time(pooled.seconds, scale.tau_seconds),
        speedup=speedup,
        experiments=row.experiments,
    )


def _time(times: PooledTimes, tau: float | None) -> TimeToTarget:
    mean = restricted_mean(times.left, tau) if times.left and tau is not None else None
    return TimeToTarget(times.median, times.reached, times.ci95, mean, tau)
