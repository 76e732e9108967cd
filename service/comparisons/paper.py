"""Table of a comparison for papers."""

from normcore.spec.metric import Metric, is_share
from normcore.spec.tasks import BENCHMARKS
from service import wording
from service.comparisons.schemas import ComparedEntry, Comparison, Ratio
from service.leaderboards.paper import (
    describe_board,
    describe_means,
    estimate_cells,
    name_metric,
    write_day,
    write_seeds,
)
from service.paper.table import PaperCell, PaperColumn, PaperTable, RowGroup, cells, without_empty_columns

TESTED = (
    "Differences from the baseline by seeds, with their 95% confidence intervals and p-values (Holm). Bold: better than"
    " the baseline."
)


def comparison_on_paper(comparison: Comparison) -> list[PaperTable]:
    """Table of a comparison: a row for each entry, the entries that are better than the baseline in bold."""
    metric = BENCHMARKS[comparison.task].metric()
    where = describe_board(comparison.task, comparison.profile, comparison.problem)
    baseline = next(entry.name for entry in comparison.entries if entry.fingerprint == comparison.baseline)
    means = describe_means([len(entry.seeds) for entry in comparison.entries], interval=False)
    caption = f"Comparison with {baseline} on {where}.{means} {TESTED}"
    rows = [_row(entry, comparison, metric) for entry in comparison.entries]
    times = [name for name, at in (("Steps", -2), ("Seconds", -1)) if any(row[at].text != wording.DASH for row in rows)]
    if comparison.target is not None and times:
        level = wording.level(comparison.target, metric.name)
        caption += f" {wording.listed(times)}: speed-ups to {level}."
    unit = "points" if is_share(metric.name) else metric.unit
    table = PaperTable(
        f"comparison-{comparison.task}-{comparison.profile}",
        f"{caption} normbench, {write_day()}.",
        [
            PaperColumn("Entry", "left"),
            PaperColumn(name_metric(metric.name, metric.unit)),
            PaperColumn("n"),
            PaperColumn(f"Difference ({unit})" if unit else "Difference"),
            PaperColumn("95% interval"),
            PaperColumn("p"),
            PaperColumn("Steps"),
            PaperColumn("Seconds"),
        ],
        [RowGroup(rows)],
        f"No entries on {where}.",
    )
    return [without_empty_columns(table, wording.DASH, always=3)]


def _row(entry: ComparedEntry, comparison: Comparison, metric: Metric) -> list[PaperCell]:
    value, _ = estimate_cells(entry.value, metric.name, strong=entry.outcome == "better")
    seeds = write_seeds(len(entry.seeds), entry.n_diverged)
    split = entry.speedup
    times = [_ratio(split.steps, split.bound), _ratio(split.total, split.bound)] if split else [wording.DASH] * 2
    return [PaperCell(entry.name), value, *cells(seeds, *_difference(entry, comparison, metric), *times)]


def _difference(entry: ComparedEntry, comparison: Comparison, metric: Metric) -> list[str]:
    found = entry.difference
    if entry.fingerprint == comparison.baseline or found is None:
        return [wording.DASH] * 3
    between = wording.DASH if found.ci95 is None else wording.difference_interval(found.ci95, metric.name)
    mean = wording.difference(found.mean, metric.name).removesuffix(" points")
    return [mean, between, wording.p_value(found.p_holm).removeprefix("p").replace(wording.UNBROKEN, "").lstrip("=")]


def _ratio(ratio: Ratio, bound: str | None) -> str:
    told = wording.ratio(ratio.ratio)
    return f"{bound} {told}" if bound and ratio.ratio is not None else told
