"""Tables of a section's trainings, and sentences on the expected orders of its specs."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple

from benchmarks.reproductions.markdown import NOT_RUN, Row, number, prose, table, words
from benchmarks.reproductions.measurements import SpecResults
from benchmarks.reproductions.orders import Held, Values, held
from benchmarks.reproductions.sections import TO_THE_TARGET, Order
from benchmarks.reproductions.verdicts import Step, describe
from normcore.spec import TrainingSpec
from normcore.spec.metric import Metric
from normcore.target import HELD
from service.statistics.times import Fraction, TimeUnit, to_baselines_best

Runs = Mapping[str, SpecResults | None]
"""Results of trainings by the name of the spec; None for a spec without a run."""
TIMES: tuple[TimeUnit, ...] = ("steps", "seconds")
UNRESOLVED = "at or before the first evaluation, {} updates: not resolved"
NOT_AT_HAND = "**Verdict not computed**: the results of each seed are not at hand; `{}` measures them."
NOT_COUNTED = "not counted seed by seed"
RESULTS = "| spec | seeds | test "  # begin of the table of results


class OrderResult(NamedTuple):
    """Expected order, and the result of checking it.

    Attributes:
        held: number of seeds in which the order holds; None if results by seed are not known, or if the specs have no
            seed in common.
        steps: the board's verdict on each spec and the next one; None if results are not known.
        unresolved: specs whose median time to the target is at or before the first evaluation.
        is_known: True if all specs of the order have results.
    """

    order: Order
    held: Held | None
    steps: Sequence[Step] | None
    unresolved: Sequence[str]
    is_known: bool


def first_evaluations(specs: Mapping[str, TrainingSpec]) -> dict[str, int]:
    """Updates until the first evaluation, by spec."""
    return {name: spec.training.eval_every for name, spec in specs.items()}


def results(runs: Runs, metric: Metric, shows: str, first: Mapping[str, int], old_rows: Mapping[str, Row]) -> str:
    """Write the table of results of all specs.

    Args:
        metric: the metric that ranks.
        shows: name of one more series in the table; may be empty.
        first: updates until the first evaluation, by spec.
        old_rows: rows of the earlier page for specs without a run.
    """
    return table(_rows(runs, metric, shows, first, old_rows))


def _rows(
    runs: Runs, metric: Metric, shows: str, first: Mapping[str, int], old_rows: Mapping[str, Row]
) -> Iterator[Row]:
    unit = f" ({metric.unit})" if metric.unit not in ("", metric.name) else ""
    series = [f"`{shows}` in the end"] if shows else []
    head = ("seeds", f"test {words(metric.name)}{unit}", "95% interval", *series, "updates to the target", "min a run")
    yield ("spec", *head)
    for name, run in runs.items():
        if run is None:
            yield old_rows.get(name, (words(name), NOT_RUN, *[""] * (len(head) - 1)))
        else:
            yield (words(name), *_cells(run, shows, first[name]))


def _cells(run: SpecResults, shows: str, first: int) -> Row:
    center = run.pooled.value
    interval = center.ci95 if center is not None else None
    return (
        str(len(run.values)),
        "diverged" if center is None else number(center.mean),
        "–" if interval is None else f"{number(interval[0])} to {number(interval[1])}",
        *([number(fmean(run.shown.values())) if run.shown else "–"] if shows else []),
        mark_first(_to_the_target(run), first),
        f"{run.minutes:.1f}",
    )


def other_metrics(runs: Runs, metrics: Sequence[Metric]) -> Iterator[str]:
    """Table of the test metrics that do not rank: mean of the seeds, and its 95% interval. May be empty."""
    others = [metric.name for metric in metrics[1:]]
    rows = [(words(name), *(_mean_of(run, other) for other in others)) for name, run in runs.items() if run is not None]
    if others and rows:
        told = "What else was tested: mean of the seeds, and its 95% interval:"
        yield f"{told}\n\n{table([('spec', *map(words, others)), *rows])}"


def _mean_of(run: SpecResults, metric: str) -> str:
    found = run.pooled.values.get(metric)
    if found is None:
        return "–"
    return number(found.mean) + (f" ({number(found.ci95[0])} to {number(found.ci95[1])})" if found.ci95 else "")


def _to_the_target(run: SpecResults) -> str:
    steps = run.pooled.steps
    return f"{'–' if steps.median is None else number(steps.median)} ({steps.reached} of {run.pooled.n_seeds})"


def mark_first(cell: str, first: int) -> str:
    """Mark a median at the first evaluation as unresolved.

    Args:
        cell: text of the cell: the median, and the number of seeds that reached the target.
        first: updates until the first evaluation.
    """
    median, _, seeds = cell.partition(" (")
    return f"{UNRESOLVED.format(median)} ({seeds}" if median == number(first) else cell


def is_first(cell: str, first: int) -> bool:
    """Tell if the median in a cell of the table is at the first evaluation."""
    return mark_first(cell, first).startswith(UNRESOLVED.format(number(first)))


TIMES_TOLD = "Time to the best level that"


def to_the_best_of(baseline: str, runs: Runs, metric: Metric) -> str:
    """Table of times to the baseline's best level and to the spec's own best, divided by the baseline's time.

    Seeds are compared one by one: the level is the best one that the baseline with the same seed holds.
    """
    own = words(baseline)
    told = (
        f"{TIMES_TOLD} {own} of the same seed holds for {HELD} validations, and to each spec's own best"
        f" level. Times are parts of the time in which {own} gets to its best:"
    )
    return f"{prose(told)}\n\n{table(_parts(runs[baseline], runs, metric))}"


def _parts(baseline: SpecResults | None, runs: Runs, metric: Metric) -> Iterator[Row]:
    yield ("spec", *(cell for what in ("updates", "seconds", "updates to its own") for cell in (what, "95% interval")))
    for name, run in runs.items():
        if baseline is not None and run is not None:
            curves = (baseline.curves, run.curves, metric.direction)
            parts = [*(to_baselines_best(*curves, by=by) for by in TIMES), to_baselines_best(*curves, own_best=True)]
            yield (words(name), *(cell for part in parts for cell in _part(part)))


def _part(found: Fraction | None) -> Row:
    if found is None:
        return "–", "–"
    interval = "–" if found.ci95 is None else " to ".join(map(number, found.ci95))
    return f"{f'{found.bound} ' if found.bound else ''}{number(found.fraction)}", interval


def write_order(found: OrderResult, specs: str) -> str:
    """Write a paragraph on an expected order: the order, the number of seeds in which it held, and the board's verdict.

    Args:
        specs: the section's folder of specs, for the command that measures missing results.
    """
    expected, held = expectation(found.order), found.held
    if held is None and not found.is_known:
        return prose(f"*{expected}*: not known yet.")
    seen = NOT_COUNTED
    if held is not None:
        seen = f"seen in {held.seeds} of {held.of} seeds{_pairs(found.order, held.pairs, held.of)}"
    board = NOT_AT_HAND.format(submit(specs)) if found.steps is None else describe(found.order, found.steps)
    return prose(f"*{expected}*: {seen}. {board}{_unresolved(found)}")


def _unresolved(found: OrderResult) -> str:
    if found.order.by != TO_THE_TARGET or not found.unresolved:
        return ""
    names = " and ".join(map(words, found.unresolved))
    return f" The updates of {names} are not resolved: they are at or before the first evaluation."


def is_unresolved(run: SpecResults, first: int) -> bool:
    """Tell if a spec's median time to the target is at or before the first evaluation."""
    return is_first(_to_the_target(run), first)


def submit(specs: str) -> str:
    """Command that measures a section."""
    return f"normbench submit examples/reproductions/{specs}/*.yaml --wait"


def expectation(order: Order) -> str:
    """Phrase on an order: who expects it, if it was written after the first results, and the order itself."""
    return f"{order.source}{', written after looking' * order.after_looking}: {without_source(order)}"


def without_source(order: Order) -> str:
    """Phrase on an order: its specs, and what ranks them; without who expects it."""
    return f"{', then '.join(map(words, order.best_first))}{_measure(order.by)}"


def seeds_in_order(order: Order, runs: Runs, metric: Metric) -> Held | None:
    """Count the seeds in which an order holds; None if the specs have no seed in common, or one spec has no run."""
    known = [run for name in order.best_first if (run := runs[name]) is not None]
    if len(known) < len(order.best_first):
        return None
    found = held([_values(run, order.by) for run in known], "minimize" if order.by else metric.direction)
    return found if found.of else None


def _measure(by: str) -> str:
    return {"": "", TO_THE_TARGET: ", by updates to the target"}.get(by, f", by `{by}` in the end")


def _values(run: SpecResults, by: str) -> Values:
    return {"": run.values, TO_THE_TARGET: run.steps}.get(by, run.shown)


def _pairs(order: Order, pairs: Sequence[int], of: int) -> str:
    """Phrase how many seeds confirm each pair of neighbours in an expected order of methods. The phrase is empty for a
    single pair, or if all seeds confirm all pairs."""
    if len(pairs) == 1 or min(pairs) == of:
        return ""
    names = [words(name) for name in order.best_first]
    each = (f"{names[k]} before {names[k + 1]} in {seeds}" for k, seeds in enumerate(pairs))
    return f" ({', '.join(each)})"
