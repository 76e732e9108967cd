"""What was trained, spec by spec, and whether it came out in the order that was expected."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean

from benchmarks.reproductions.markdown import Row, number, prose, table, words
from benchmarks.reproductions.measured import Trained
from benchmarks.reproductions.orders import Held, Values, held
from benchmarks.reproductions.sections import Order
from normcore.spec.metric import Metric
from normcore.target import HELD
from service.statistics.times import By, Fraction, to_baselines_best

Runs = Mapping[str, Trained | None]
"""By the name of the spec; None where nothing was run."""
TIMES: tuple[By, ...] = ("steps", "seconds")


def results(runs: Runs, metric: Metric, shows: str) -> str:
    """The table of all specs, ``shows`` being a series that it has besides the metric."""
    return table(_rows(runs, metric, shows))


def _rows(runs: Runs, metric: Metric, shows: str) -> Iterator[Row]:
    unit = f" ({metric.unit})" if metric.unit not in ("", metric.name) else ""
    series = [f"`{shows}` in the end"] if shows else []
    head = ("seeds", f"test {words(metric.name)}{unit}", "95% interval", *series, "updates to the target", "min a run")
    yield ("spec", *head)
    for name, run in runs.items():
        yield (words(name), *(_cells(run, shows) if run is not None else ["not run", *[""] * (len(head) - 1)]))


def _cells(run: Trained, shows: str) -> Row:
    center = run.pooled.value
    interval = center.ci95 if center is not None else None
    return (
        str(len(run.values)),
        "diverged" if center is None else number(center.mean),
        "–" if interval is None else f"{number(interval[0])} to {number(interval[1])}",
        *([number(fmean(run.shown.values())) if run.shown else "–"] if shows else []),
        _to_the_target(run),
        f"{run.minutes:.1f}",
    )


def other_metrics(runs: Runs, metrics: Sequence[Metric]) -> Iterator[str]:
    """The test metrics that do not rank, if there are any: mean of the seeds, and half of its interval's width."""
    others = [metric.name for metric in metrics[1:]]
    rows = [(words(name), *(_mean_of(run, other) for other in others)) for name, run in runs.items() if run is not None]
    if others and rows:
        told = "What else was tested: mean of the seeds, and its 95% interval:"
        yield f"{told}\n\n{table([('spec', *map(words, others)), *rows])}"


def _mean_of(run: Trained, metric: str) -> str:
    found = run.pooled.values.get(metric)
    if found is None:
        return "–"
    return number(found.mean) + (f" ({number(found.ci95[0])} to {number(found.ci95[1])})" if found.ci95 else "")


def _to_the_target(run: Trained) -> str:
    steps = run.pooled.steps
    return f"{'–' if steps.median is None else number(steps.median)} ({steps.reached} of {run.pooled.n_seeds})"


def to_the_best_of(baseline: str, runs: Runs, metric: Metric) -> str:
    """When each comes to the best level that the baseline of the same seed holds, as a part of the baseline's time."""
    own = words(baseline)
    told = (
        f"Time to the best level that {own} of the same seed holds for {HELD} validations, and to each spec's own best"
        f" level, as parts of the time in which {own} gets to its best:"
    )
    return f"{prose(told)}\n\n{table(_parts(runs[baseline], runs, metric))}"


def _parts(baseline: Trained | None, runs: Runs, metric: Metric) -> Iterator[Row]:
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


def verdict(order: Order, runs: Runs, metric: Metric) -> str:
    """The order that was expected, and in how many seeds it was seen."""
    expected, found = expectation(order), seeds_in_order(order, runs, metric)
    if found is None:
        return prose(f"*{expected}*: not known yet.")
    seen = "**holds**" if found.seeds == found.of else "**does not hold**" if found.seeds == 0 else "**holds in part**"
    return prose(f"*{expected}*: {seen}, in {found.seeds} of {found.of} seeds{_pairs(order, found.pairs, found.of)}.")


def expectation(order: Order) -> str:
    """Who expects which order."""
    return f"{order.source}: {', then '.join(map(words, order.best_first))}{_measure(order.by)}"


def seeds_in_order(order: Order, runs: Runs, metric: Metric) -> Held | None:
    """In how many seeds the order was seen; None if not all of its specs were run with a seed in common."""
    known = [run for name in order.best_first if (run := runs[name]) is not None]
    if len(known) < len(order.best_first):
        return None
    found = held([_values(run, order.by) for run in known], "minimize" if order.by else metric.direction)
    return found if found.of else None


def _measure(by: str) -> str:
    return {"": "", "steps_to_target": ", by updates to the target"}.get(by, f", by `{by}` in the end")


def _values(run: Trained, by: str) -> Values:
    return {"": run.values, "steps_to_target": run.steps}.get(by, run.shown)


def _pairs(order: Order, pairs: Sequence[int], of: int) -> str:
    """Each spec beside the next, where there is more than one pair and one of them failed."""
    if len(pairs) == 1 or min(pairs) == of:
        return ""
    names = [words(name) for name in order.best_first]
    each = (f"{names[k]} before {names[k + 1]} in {seeds}" for k, seeds in enumerate(pairs))
    return f" ({', '.join(each)})"
