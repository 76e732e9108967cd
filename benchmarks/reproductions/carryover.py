"""Sections and rows without a run in the database: their numbers stay, and their verdicts are computed again."""

from collections.abc import Iterator, Mapping

from benchmarks.reproductions.earlier import VERDICT, Earlier, count_seeds, rows
from benchmarks.reproductions.markdown import NOT_RUN, Row, prose, words
from benchmarks.reproductions.sections import Section
from benchmarks.reproductions.seeds import Seeds, read_table
from benchmarks.reproductions.trainings import (
    RESULTS,
    OrderResult,
    Runs,
    first_evaluations,
    is_first,
    is_unresolved,
    mark_first,
    seeds_in_order,
    without_source,
    write_order,
)
from benchmarks.reproductions.verdicts import verdict
from service.wording import listed

FROM = "Verdicts are computed from"
FROM_SEEDS = f"{FROM} the results of each seed in [seeds.json](reproductions/seeds.json)."
FROM_PRINTED = (
    f"{FROM} the means and intervals in the table above, as if no seed had diverged. The results of each seed are not"
    " at hand, so there are verdicts by the test's metric alone."
)
FROM_BOTH = (
    f"{FROM} the results of each seed in [seeds.json](reproductions/seeds.json). Those of {{}} are not at hand: their"
    " means and intervals in the table above stand for them, as if no seed had diverged, by the test's metric alone."
)


def refresh(section: Section, before: Earlier) -> str:
    """Text of a section without runs: its earlier text, with verdicts computed again.

    Targets that are reached at the first evaluation are marked as unresolved.
    """
    text = before.sections[section.title]
    if not section.trainings():
        return text
    parts = text.split("\n\n")
    stale = [k for k, part in enumerate(parts) if VERDICT.fullmatch(part) or part.startswith(FROM)]
    for k in reversed(stale):
        del parts[k]
    if stale:
        parts[stale[0] : stale[0]] = write_orders(section, before, {})
    return "\n\n".join(_resolved(section, part) if part.startswith(RESULTS) else part for part in parts)


def write_orders(section: Section, before: Earlier, runs: Runs) -> Iterator[str]:
    """Write the orders of a section with their verdicts, and the source of the numbers behind the verdicts."""
    found = judge_orders(section, before, runs)
    yield from (write_order(each, section.specs) for each in found)
    if any(each.steps is not None for each in found):
        yield prose(_computed_from(seeds_at_hand(section, before, runs)))


def _computed_from(seeds: Mapping[str, Seeds]) -> str:
    from_table = [words(name) for name, own in seeds.items() if own.is_printed]
    if not from_table:
        return FROM_SEEDS
    return FROM_PRINTED if len(from_table) == len(seeds) else FROM_BOTH.format(listed(from_table))


def judge_orders(section: Section, before: Earlier, runs: Runs) -> list[OrderResult]:
    """Judge the orders of a section by the runs of a database and by the earlier page."""
    text = before.sections.get(section.title, "")
    counted, seeds, late = count_seeds(text), seeds_at_hand(section, before, runs), _unresolved(section, text, runs)
    found = []
    for order in section.orders:
        metric = section.trainings()[order.best_first[0]].task.metric()
        run = [name for name in order.best_first if runs.get(name) is not None]
        if len(run) == len(order.best_first):
            held = seeds_in_order(order, runs, metric)
            is_known = held is not None
        else:
            held = None if run else counted.get(without_source(order))
            is_known = set(order.best_first) <= seeds.keys()
        steps = verdict(order, seeds, metric.direction) if is_known else None
        found.append(OrderResult(order, held, steps, [name for name in order.best_first if name in late], is_known))
    return found


def seeds_at_hand(section: Section, before: Earlier, runs: Runs) -> Mapping[str, Seeds]:
    """Results by seed of each spec: from the runs, else from the file beside the page, else from the printed table."""
    specs, text = section.trainings(), before.sections.get(section.title, "")
    known = {
        **read_table(text, specs, (row for table in _tables(text) for row in rows(table))),
        **before.seeds.get(section.specs, {}),
        **{name: Seeds.of(run, specs[name].training) for name, run in runs.items() if run is not None},
    }
    return {name: known[name] for name in specs if name in known}


def parts_from(text: str, begin: str) -> list[str]:
    """Paragraph of an earlier section that begins so, with the table, picture or block after it; empty without such a
    paragraph."""
    parts = text.split("\n\n")
    return next((parts[k : k + 2] for k, part in enumerate(parts) if part.startswith(begin)), [])


def rows_without_run(section: Section, before: Earlier, runs: Runs) -> Mapping[str, Row]:
    """Rows of the earlier table of results for specs that have no run in the database, by spec."""
    text = before.sections.get(section.title, "")
    found = {row[0]: row for table in _tables(text) for row in rows(table) if row[1] != NOT_RUN}
    first = first_evaluations(section.trainings())
    missing = [name for name, run in runs.items() if run is None and words(name) in found]
    return {name: _row(found[words(name)], first[name]) for name in missing}


def _unresolved(section: Section, text: str, runs: Runs) -> list[str]:
    """Names of specs whose median time to the target is at the first evaluation."""
    cells = {row[0]: row[-2] for table in _tables(text) for row in rows(table)}
    return [
        name
        for name, first in first_evaluations(section.trainings()).items()
        if (is_unresolved(run, first) if (run := runs.get(name)) else is_first(cells.get(words(name), ""), first))
    ]


def _tables(text: str) -> list[str]:
    return [part for part in text.split("\n\n") if part.startswith(RESULTS)]


def _resolved(section: Section, part: str) -> str:
    """Table of results with medians at the first evaluation marked as unresolved.

    Args:
        part: the table, as Markdown.
    """
    first = {words(name): steps for name, steps in first_evaluations(section.trainings()).items()}
    found = (_row(row, first[row[0]]) if row[0] in first else row for row in rows(part))
    return "\n".join([*part.split("\n")[:2], *(f"| {' | '.join(row)} |" for row in found)])


def _row(row: Row, first: int) -> Row:
    *cells, to_the_target, minutes = row
    return *cells, mark_first(to_the_target, first), minutes
