"""Text of a comparison: which entries differ from the baseline, and which is best."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from normcore.spec.metric import Metric
from service import wording
from service.comparisons.schemas import ComparedEntry, Comparison, Outcome, Ratio
from service.leaderboards.schemas import Verdict
from service.leaderboards.seeds import FEWEST, NEEDED, are_too_few
from service.leaderboards.verdicts import begin_sentence, in_sentence, list_entries
from service.statistics.differences import pair
from service.statistics.order import SURE
from service.statistics.spread import cut_by_seed
from service.statistics.values import Limits

Values = Mapping[str, Mapping[int, float]]  # values of converged seeds, by fingerprint and seed
MUCH = 1.03  # a step that takes more than this many times as long as the baseline's is said to take longer


@dataclass(frozen=True, slots=True)
class BaselineComparison:
    """Entry that is compared with the baseline.

    Attributes:
        dots: difference from the baseline for each seed that the entry and the baseline share.
    """

    entry: ComparedEntry
    dots: Sequence[float]


def compare_with_baseline(comparison: Comparison, values: Values) -> list[BaselineComparison]:
    """Compare each entry other than the baseline with the baseline."""
    against = cut_by_seed(values[comparison.baseline])
    rows = []
    for entry in comparison.entries:
        if entry.fingerprint != comparison.baseline:
            own = cut_by_seed(values[entry.fingerprint])
            rows.append(
                BaselineComparison(entry, [own[seed] - against[seed] for seed in sorted(own.keys() & against.keys())])
            )
    return rows


def verdict(comparison: Comparison, values: Values, named: Mapping[str, str], metric: Metric) -> Verdict:
    """Write the verdict of a comparison: which entries are clearly better or worse than the baseline, and how far the
    best entry is ahead of the next entry.

    Args:
        named: names of the entries, by fingerprint.
    """
    return Verdict(_against_baseline(comparison, named), _best(comparison, values, named, metric))


def _against_baseline(comparison: Comparison, named: Mapping[str, str]) -> str:
    baseline = in_sentence(named[comparison.baseline])
    lost_baseline = any(e.fingerprint == comparison.baseline and e.value is None for e in comparison.entries)
    others = [entry for entry in comparison.entries if entry.fingerprint != comparison.baseline]

    def names(outcome: Outcome, *, split: bool = False, valued: bool = True) -> list[str]:
        found = [e for e in others if (e.outcome, _is_split(e), e.value is not None) == (outcome, split, valued)]
        return [named[entry.fingerprint] for entry in found]

    better, worse, open_ones = names("better"), names("worse"), names("not shown")
    split, few, lost = names("not shown", split=True), names("not tested"), names("not tested", valued=False)
    if len(better) == len(others) > 1:
        return f"{'Both' if len(others) == 2 else f'All {wording.in_words(len(others))}'} beat {baseline};"
    parts = []
    if better:
        parts.append(f"{list_entries(better)} {_verb('beats', better)} {baseline}")
    if worse:
        parts.append(f"{list_entries(worse)} {_verb('does', worse)} worse than {baseline}")
    if open_ones:
        parts.append(f"no difference between {list_entries(open_ones)} and {baseline} is shown")
    if split:
        told = f"between {list_entries(split)} and {baseline} the seeds that converged differ"
        parts.append(f"{told}, but the scores, in which diverged seeds count too, do not show it")
    if few and lost_baseline:
        parts.append(f"{baseline} has no finite result to compare {list_entries(few)} with")
    elif few:
        parts.append(f"{list_entries(few)} {_verb('has', few)} too few seeds beside {baseline} ({NEEDED})")
    if lost:
        parts.append(f"{list_entries(lost)} {_verb('has', lost)} no finite result")
    text = "; ".join(parts)
    return f"{text[:1].upper()}{text[1:]};" if text.startswith(("no ", "between ")) else f"{begin_sentence(text)};"


def _is_split(entry: ComparedEntry) -> bool:
    """Tell if the seeds that converged differ from the baseline's, and the scores do not differ in the same way."""
    return entry.outcome == "not shown" and entry.difference is not None and entry.difference.p_holm <= SURE


def _verb(singular: str, names: Sequence[str]) -> str:
    several = {"beats": "beat", "does": "do", "has": "have", "is": "are", "ties": "tie"}
    return singular if len(names) == 1 else several[singular]


def _best(comparison: Comparison, values: Values, named: Mapping[str, str], metric: Metric) -> str:
    """Sentence on the best entry, or on the entries that may be the best.

    Only entries that are within the budget and have enough seeds count.
    """
    within = [entry for entry in comparison.entries if not entry.over_budget]
    ranked = sorted((entry for entry in within if entry.tie_group is not None), key=_place)
    enough = [entry for entry in ranked if not are_too_few(len(entry.seeds))]
    some = "entries" if len(within) == len(comparison.entries) else "entries within the budget"
    if len(ranked) < 2:
        return f"too few {some} have a finite result to call one the best."
    if len(enough) < 2:
        return f"too few {some} have {FEWEST} seeds or more to call one the best."
    first, *others = enough
    beside = [entry for entry in others if entry.fingerprint not in first.above]
    found = _may_lead(first, beside, named) if beside else _leads(first, others[0], values, named, metric)
    where = "within the budget " if len(within) < len(comparison.entries) else ""
    return f"{where}of the entries with {FEWEST} seeds or more {found}" if len(enough) < len(ranked) else where + found


def _place(entry: ComparedEntry) -> tuple[Any, ...]:
    return entry.rank, entry.tie_group, entry.rank_ci


def _may_lead(first: ComparedEntry, beside: Sequence[ComparedEntry], named: Mapping[str, str]) -> str:
    """Sentence on an entry with the best score that is not surely the best.

    Args:
        beside: entries that are not shown to be worse than ``first``.
    """
    tied = [named[entry.fingerprint] for entry in beside if entry.tie_group == first.tie_group]
    others = [named[entry.fingerprint] for entry in beside if entry.tie_group != first.tie_group]
    parts = [f"{in_sentence(named[first.fingerprint])} has the best score"]
    parts.append(f"{list_entries(tied)} {_verb('ties', tied)} with it" if tied else "may not be first")
    told = ", and ".join(parts)
    if not others:
        return f"{told}."
    return f"{told}{';' if tied else ':'} {list_entries(others)} {_verb('is', others)} not shown to be worse."


def _leads(
    first: ComparedEntry, second: ComparedEntry, values: Values, named: Mapping[str, str], metric: Metric
) -> str:
    best, next_one = (in_sentence(named[entry.fingerprint]) for entry in (first, second))
    found = pair(values[first.fingerprint], values[second.fingerprint], Limits.of(metric))
    if found is None:  # too few seeds for an interval; ``second`` is surely worse all the same
        return f"{best} is best."
    between = wording.distance_interval(found.ci95, metric.name)
    sure = f"{wording.p_value(first.above[second.fingerprint])} after Holm"
    return (
        f"{best} is best, by {wording.distance(found.mean, metric.name, metric.unit)} over {next_one}"
        f" (95% interval {between}, {sure})."
    )


def facts(comparison: Comparison, named: Mapping[str, str]) -> list[str]:
    """Facts besides the verdict, such as the number of shared seeds and which entry is fastest."""
    shared = set.intersection(*(set(entry.seeds) for entry in comparison.entries))
    told = [f"{wording.count(len(shared), 'shared seed')}: same initial weights, same batches" if shared else ""]
    told += [
        _describe_diverged_seeds(comparison, named),
        _gaps(comparison, named),
        _describe_over_budget(comparison, named),
    ]
    told += [_by_the_clock(comparison, named), _other_machines(comparison)]
    return [fact for fact in told if fact]


def _describe_diverged_seeds(comparison: Comparison, named: Mapping[str, str]) -> str:
    some = [
        f"{entry.n_diverged} of {wording.count(len(entry.seeds), 'seed')} of {in_sentence(named[entry.fingerprint])}"
        for entry in comparison.entries
        if entry.n_diverged
    ]
    return f"{wording.listed(some)} diverged; they count only in scores, as a model without skill" if some else ""


def _gaps(comparison: Comparison, named: Mapping[str, str]) -> str:
    some = list_entries([named[entry.fingerprint] for entry in comparison.entries if entry.gap])
    return f"Some seeds of {some} did not take off; no interval of the mean holds for such values" if some else ""


def _describe_over_budget(comparison: Comparison, named: Mapping[str, str]) -> str:
    over = [named[entry.fingerprint] for entry in comparison.entries if entry.over_budget]
    return (
        f"{begin_sentence(list_entries(over))} {_verb('is', over)} over the board's budget, and not ranked"
        if over
        else ""
    )


def _by_the_clock(comparison: Comparison, named: Mapping[str, str]) -> str:
    timed = [(entry, entry.speedup) for entry in comparison.entries if entry.speedup and entry.speedup.total.ratio]
    if not timed:
        return ""
    entry, found = max(timed, key=lambda known: known[1].total.ratio or 0.0)
    own, baseline = (in_sentence(named[name]) for name in (entry.fingerprint, comparison.baseline))
    if (found.total.ratio or 0.0) < 1:
        told = f"By the clock {baseline} is fastest; the next, {own},"
        return f"{told} {_with_interval(found.total)}"
    if found.total.ci95 and found.total.ci95[0] <= 1:
        told = f"By the clock no difference is shown: {own} {_with_interval(found.total)}"
    else:
        told = f"By the clock {own} is fastest: {_with_interval(found.total)}"
    pace = found.seconds_per_step.ratio
    longer = 1 / pace if pace else 1.0
    return told + (f", though each of its steps takes {longer:.1f} times as long" if longer > MUCH else "")


def _with_interval(ratio: Ratio) -> str:
    limits = wording.ratio_interval(ratio.ci95)
    return f"{wording.ratio(ratio.ratio)} ({f'95% interval {limits}' if ratio.ci95 else limits})"


def _other_machines(comparison: Comparison) -> str:
    machines = {(entry.hardware, entry.kernel) for entry in comparison.entries}
    return "Seconds were measured on different hardware or kernels, and are not compared" if len(machines) > 1 else ""
