"""The page that compares entries of one board."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Annotated, Any, cast

from fastapi import Query, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from normcore.figures.styles import styles_of
from normcore.problem import own_problem
from normcore.spec.metric import Metric
from normcore.spec.names import names_apart
from normcore.spec.task import ProfileName
from normcore.spec.tasks import BENCHMARKS
from service import wording
from service.comparisons import queries as comparisons
from service.comparisons.figures import AXES, extract_curves
from service.comparisons.schemas import ComparedEntry, Comparison, Ratio, Split
from service.experiments import queries as experiments
from service.experiments.parameters import Beginning
from service.http.dependencies import AppPartsDep
from service.leaderboards import queries as leaderboards
from service.leaderboards.entry import converged_values
from service.leaderboards.queries import BoardRequest
from service.pages import axes, comparison_text
from service.pages.axes import Axis, Mark
from service.pages.boards import curves_as_table
from service.pages.comparison_text import BaselineComparison, Values
from service.pages.rendering import address, answer_from_cache, html, page
from service.pages.routing import PageRouter
from service.statistics.times import TimeUnit

router = PageRouter()

MOST = 8  # entries; curves of more entries could not be told apart
SHORT = 12  # characters of a fingerprint in an address
PARTS = ("task", "model", "norm", "training")  # parts of a spec that decide its result


@router.get("/compare")
def get_comparison(
    request: Request,
    parts: AppPartsDep,
    fingerprint: Annotated[list[Beginning], Query(max_length=MOST, default_factory=list)],
    baseline: Annotated[Beginning | None, Query()] = None,
    by: Annotated[TimeUnit, Query()] = "steps",
) -> Response:
    """Page that compares entries: whether they differ, and why."""
    chosen = list(dict.fromkeys(fingerprint))
    with parts.db.snapshot() as session:
        if len(chosen) < 2:
            boards = leaderboards.leaderboards(session)
            return page(request, "compare/choose.html", chosen=chosen, boards=boards)
        version = leaderboards.version(session, *comparisons.board_of(session, chosen))
        return answer_from_cache(
            request,
            parts,
            version,
            lambda: html(request, "compare/comparison.html", **_values(session, chosen, baseline, by)),
        )


def _values(session: Session, chosen: Sequence[str], baseline: str | None, by: TimeUnit) -> dict[str, Any]:
    """Values for the template of the page."""
    comparison = comparisons.comparison(session, chosen, baseline, None)
    entries, task = comparison.entries, BENCHMARKS[comparison.task]
    metric = task.metric()
    named = {entry.fingerprint: entry.name for entry in entries}
    called = dict(zip(named, names_apart(list(named.values())), strict=True))
    values = _values_by_seed(session, entries)
    rows = comparison_text.compare_with_baseline(comparison, values)
    return {
        "title": f"{wording.in_words(len(entries)).capitalize()} entries on {task.title}",
        "comparison": comparison,
        "metric": metric,
        "own": comparison.problem.id == own_problem(comparison.task, cast(ProfileName, comparison.profile)).id,
        "by": by,
        "axis_title": AXES[by],
        "named": named,
        "hollow": {
            entry.fingerprint: style.hollow
            for entry, style in zip(entries, styles_of([entry.method for entry in entries]), strict=True)
        },
        "verdict": comparison_text.verdict(comparison, values, called, metric),
        "facts": comparison_text.facts(comparison, called),
        "differences": differences(rows, metric),
        "speedups": speedups(entries),
        "others": _others(session, comparison),
        "differing": find_differing_fields(_specs(session, entries)),
        "values": values,
        "seeds": sorted({seed for entry in entries for seed in entry.seeds}),
        "curves": curves_as_table([extract_curves(entry) for entry in entries], by),
        **_addresses(comparison, by),
    }


def _addresses(comparison: Comparison, by: TimeUnit) -> dict[str, Any]:
    short = [entry.fingerprint[:SHORT] for entry in comparison.entries]
    asked = {"fingerprint": short, "baseline": comparison.baseline[:SHORT]}
    board = address(f"/boards/{comparison.task}", profile=comparison.profile, problem=comparison.problem.id)
    return {
        "without": {one: address("/compare", fingerprint=[other for other in short if other != one]) for one in short},
        "board_address": board,
        "data_address": address("/v1/comparisons", **asked),
        "curves_address": address("/v1/comparisons/figures/curves", **asked, x=by),
        "survival_address": address("/v1/comparisons/figures/survival", **asked),
    }


def _values_by_seed(session: Session, entries: Sequence[ComparedEntry]) -> Values:
    """Test values of the seeds that converged."""
    known = leaderboards.seeds_of(session, [entry.fingerprint for entry in entries])
    return {fingerprint: converged_values(results) for fingerprint, results in known.items()}


def _others(session: Session, comparison: Comparison) -> list[tuple[str, str]]:
    """Fingerprint and name of each entry of the board that can be added to the comparison."""
    if len(comparison.entries) >= MOST:
        return []
    known = {entry.fingerprint for entry in comparison.entries}
    board = leaderboards.leaderboard(
        session, BoardRequest(comparison.task, cast(ProfileName, comparison.profile), comparison.problem.id)
    )
    return [
        (entry.fingerprint[:SHORT], entry.name)
        for entry in board.entries
        if entry.source == "measured" and entry.fingerprint and entry.fingerprint not in known
    ]


# -- differences ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Intervals:
    """Intervals on one axis, a row for each.

    Attributes:
        line: place on the axis that means no difference.
        rows: what each row is about, and its mark; None for a row without a value.
    """

    axis: Axis
    line: float
    rows: Sequence[tuple[Any, Mark | None]]


def differences(rows: Sequence[BaselineComparison], metric: Metric) -> Intervals:
    """Difference of each entry from the baseline, on an axis that has a place for 0."""
    found = [row.entry.difference for row in rows if row.entry.difference]
    limits = [limit for difference in found for limit in difference.ci95 or ()]
    dots = [dot for row in rows for dot in row.dots]
    text = partial(_signed_level, metric=metric.name)
    axis = axes.linear([difference.mean for difference in found] or [0.0], limits + dots, text, must=0.0)
    marks = [(row, axis.mark(one.mean, one.ci95, row.dots) if (one := row.entry.difference) else None) for row in rows]
    return Intervals(axis, axis.at(0.0), marks)


def _signed_level(number: float, metric: str) -> str:
    text = wording.level(number, metric).removesuffix("%")
    return text.replace("-", "−") if number <= 0 else f"+{text}"


# -- speed-ups -----------------------------------------------------------------------------------


def speedups(entries: Sequence[ComparedEntry]) -> Intervals:
    """Speed-ups of the entries: in seconds, or in steps where seconds cannot be compared."""
    split = [(entry, entry.speedup) for entry in entries if entry.speedup]
    ratios = [_choose_ratio(found) for _, found in split]
    numbers = [number for ratio in ratios for number in (ratio.ratio, *(ratio.ci95 or ())) if number]
    axis = axes.logarithmic(numbers, lambda ratio: f"×{ratio:g}")
    return Intervals(
        axis,
        axis.at(1.0),
        [
            (entry, axis.mark(ratio.ratio, ratio.ci95) if ratio.ratio else None)
            for (entry, _), ratio in zip(split, ratios, strict=True)
        ],
    )


def _choose_ratio(found: Split) -> Ratio:
    return found.total if found.total.ratio else found.steps


# -- what differs --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Differing:
    """Fields in which specs differ.

    Attributes:
        fields: values of all specs, by the path of the field; None for a spec that does not have the field.
        equal: number of fields that are the same in all specs.
    """

    fields: Mapping[str, Sequence[Any]]
    equal: int


def find_differing_fields(specs: Sequence[Mapping[str, Any]]) -> Differing:
    """Find the fields in which specs differ, in the order of the first spec."""
    flat = [dict(_leaves(spec)) for spec in specs]
    paths = list(dict.fromkeys(path for own in flat for path in own))
    fields = {path: [own.get(path) for own in flat] for path in paths}
    unlike = {path: contents for path, contents in fields.items() if any(one != contents[0] for one in contents)}
    return Differing(unlike, len(fields) - len(unlike))


def _leaves(spec: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Dotted path and value of each field of a spec."""
    for name, content in spec.items():
        if isinstance(content, Mapping):
            yield from _leaves(content, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", content


def _specs(session: Session, entries: Sequence[ComparedEntry]) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = []
    for entry in entries:
        [newest] = experiments.experiments(session, fingerprint=entry.fingerprint, limit=1)
        found.append({part: newest.spec[part] for part in PARTS if part in newest.spec})
    return found
