"""Numbers of papers as entries of a board."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import cast

from normcore.papers import Result, find_published_results
from normcore.problem import problem_of
from normcore.spec import resolve
from normcore.spec.metric import Metric
from normcore.spec.tasks.benchmark import Benchmark
from service.leaderboards.entry import Estimate
from service.leaderboards.schemas import Entry


def published_entries(task: str, problem: str, metric: Metric) -> list[Entry]:
    """Make entries of the papers' results on a problem. An entry shows a model's test results. A model without test
    results shows its validation results and gets no rank. Results without the board's metric get no rank, either.
    """
    results = _by_problem(task).get(problem, ())
    tested = {result.model for result in results if result.split == "test"}
    validated = {result.model: result for result in reversed(results) if result.model not in tested}  # the first stays
    shown = [result for result in results if result.split == "test" or validated.get(result.model) is result]
    return [_entry(result, metric) for result in shown]


@cache
def _by_problem(task: str) -> Mapping[str, Sequence[Result]]:
    found: dict[str, list[Result]] = {}
    for result in find_published_results(task):
        for options in result.problems if result.comparable else ():
            spec = resolve({"task": {"name": task, "profile": result.profile, **options}})
            found.setdefault(problem_of(cast(Benchmark, spec.task)).id, []).append(result)
    return found


def _entry(result: Result, metric: Metric) -> Entry:
    ranks = result.split == "test" and metric.name in result.values
    return Entry(
        method=result.method,
        source="published",
        split=result.split,
        citation=result.citation,
        model=result.model,
        origin=result.origin,
        note=result.note,
        score=result.values[metric.name] if ranks else None,
        value=Estimate(result.values[metric.name]) if ranks else None,
        values={name: Estimate(value) for name, value in result.values.items()},
    )
