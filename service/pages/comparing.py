"""What a comparison shows, in words: which entries differ from the baseline, and which is best."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from normcore.spec.metric import Metric
from service.comparisons.schemas import ComparedEntry, Comparison, Ratio
from service.pages import formats
from service.pages.seeds import NEEDED
from service.pages.verdicts import Verdict
from service.statistics.differences import holm, pair
from service.statistics.order import SURE

Outcome = Literal["better", "worse", "not shown", "not tested"]
Values = Mapping[str, Mapping[int, float]]  # of converged seeds, by fingerprint and seed
MUCH = 1.03  # times as long as the baseline's, from which on a step is said to take longer


@dataclass(frozen=True, slots=True)
class Compared:
    """An entry beside the baseline.

    Attributes:
        outcome: by Holm's p over all entries that are compared.
        dots: the differences of single seeds that both have.
    """

    entry: ComparedEntry
    outcome: Outcome
    dots: Sequence[float]


def compared(comparison: Comparison, values: Values, metric: Metric) -> list[Compared]:
    """All entries but the baseline."""
    others = [entry for entry in comparison.entries if entry.fingerprint != comparison.baseline]
    tested = [entry.difference.p_value for entry in others if entry.difference]
    adjusted = iter(holm(np.array(tested)).tolist())
    against = values[comparison.baseline]
    rows = []
    for entry in others:
        own = values[entry.fingerprint]
        dots = [own[seed] - against[seed] for seed in sorted(own.keys() & against.keys())]
        rows.append(Compared(entry, _outcome(entry, next(adjusted) if entry.difference else None, metric), dots))
    return rows


def _outcome(entry: ComparedEntry, p_value: float | None, metric: Metric) -> Outcome:
    if p_value is None or entry.difference is None:
        return "not tested"
    if p_value > SURE:
        return "not shown"
    return "better" if metric.is_better(entry.difference.mean, than=0.0) else "worse"


def verdict(
    comparison: Comparison, rows: Sequence[Compared], values: Values, named: Mapping[str, str], metric: Metric
) -> Verdict:
    """Who differs from the baseline, and how far the best is from the next."""
    return Verdict(_against_baseline(comparison, rows, named), _best(comparison, values, named, metric))


def _against_baseline(comparison: Comparison, rows: Sequence[Compared], named: Mapping[str, str]) -> str:
    baseline = named[comparison.baseline]
    of: dict[Outcome, list[str]] = {"better": [], "worse": [], "not shown": [], "not tested": []}
    for row in rows:
        of[row.outcome].append(named[row.entry.fingerprint])
    if len(of["better"]) == len(rows) > 1:
        return f"{'Both' if len(rows) == 2 else f'All {formats.in_words(len(rows))}'} beat {baseline};"
    parts = []
    if of["better"]:
        parts.append(f"{formats.listed(of['better'])} {_verb('beats', of['better'])} {baseline}")
    if of["worse"]:
        parts.append(f"{formats.listed(of['worse'])} {_verb('does', of['worse'])} worse than {baseline}")
    if of["not shown"]:
        parts.append(f"no difference between {formats.listed(of['not shown'])} and {baseline} is shown")
    untested = [row.entry for row in rows if row.outcome == "not tested"]
    few = [named[entry.fingerprint] for entry in untested if entry.value is not None]
    lost = [named[entry.fingerprint] for entry in untested if entry.value is None]
    if few:
        parts.append(f"{formats.listed(few)} {_verb('has', few)} too few seeds beside {baseline} ({NEEDED})")
    if lost:
        parts.append(f"{formats.listed(lost)} {_verb('has', lost)} no finite result")
    text = "; ".join(parts)
    return f"{text[:1].upper() if text.startswith('no ') else text[:1]}{text[1:]};"


def _verb(singular: str, names: Sequence[str]) -> str:
    return singular if len(names) == 1 else {"beats": "beat", "does": "do", "has": "have"}[singular]


def _best(comparison: Comparison, values: Values, named: Mapping[str, str], metric: Metric) -> str:
    valued = [entry for entry in comparison.entries if entry.value is not None]
    if len(valued) < 2:
        return "too few entries have a finite result to call one the best."
    better_first = sorted(
        valued, key=lambda e: e.value.mean if e.value else 0.0, reverse=metric.direction == "maximize"
    )
    first, second = better_first[:2]
    found = pair(values[first.fingerprint], values[second.fingerprint])
    best, next_one = named[first.fingerprint], named[second.fingerprint]
    if found is None:
        return f"{best} has the best mean, but too few seeds to say more."
    if found.p_value > SURE:
        return (
            f"between the two best, {best} and {next_one}, no difference is shown ({formats.p_value(found.p_value)})."
        )
    limits = sorted(map(abs, found.ci95)) if found.ci95 else None
    between = formats.difference_interval(limits, metric.name).replace("+", "")
    return (
        f"{best} is best, by {formats.distance(found.mean, metric.name, metric.unit)} over {next_one}"
        f" (95% interval {between}, {formats.p_value(found.p_value)})."
    )


def facts(comparison: Comparison, named: Mapping[str, str]) -> list[str]:
    """What to know besides: shared seeds, and what a step costs."""
    shared = set.intersection(*(set(entry.seeds) for entry in comparison.entries))
    told = [f"{formats.count(len(shared), 'shared seed')}: same initial weights, same batches" if shared else ""]
    told += [_by_the_clock(comparison, named), _other_machines(comparison)]
    return [fact for fact in told if fact]


def _by_the_clock(comparison: Comparison, named: Mapping[str, str]) -> str:
    timed = [(entry, entry.speedup) for entry in comparison.entries if entry.speedup and entry.speedup.total.ratio]
    if not timed:
        return ""
    entry, found = max(timed, key=lambda known: known[1].total.ratio or 0.0)
    if (found.total.ratio or 0.0) < 1:
        told = f"By the clock {named[comparison.baseline]} is fastest; the next, {named[entry.fingerprint]},"
        return f"{told} {_with_interval(found.total)}"
    if found.total.ci95 and found.total.ci95[0] <= 1:
        told = f"By the clock no difference is shown: {named[entry.fingerprint]} {_with_interval(found.total)}"
    else:
        told = f"By the clock {named[entry.fingerprint]} is fastest: {_with_interval(found.total)}"
    pace = found.seconds_per_step.ratio
    longer = 1 / pace if pace else 1.0
    return told + (f", though each of its steps takes {longer:.1f} times as long" if longer > MUCH else "")


def _with_interval(ratio: Ratio) -> str:
    limits = formats.ratio_interval(ratio.ci95)
    return f"{formats.ratio(ratio.ratio)} ({f'95% interval {limits}' if ratio.ci95 else limits})"


def _other_machines(comparison: Comparison) -> str:
    machines = {(entry.hardware, entry.kernel) for entry in comparison.entries}
    return "Seconds are of different hardware or kernels, and are not compared" if len(machines) > 1 else ""
