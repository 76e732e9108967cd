"""Page of reproductions as Markdown, with the numbers of a database of runs."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, cast

from sqlalchemy import select
from sqlalchemy.orm import Session

from benchmarks.reproductions.carryover import (
    judge_orders,
    parts_from,
    refresh,
    rows_without_run,
    seeds_at_hand,
    write_orders,
)
from benchmarks.reproductions.earlier import FULL_SIZE, GLANCE, Earlier
from benchmarks.reproductions.findings import findings
from benchmarks.reproductions.markdown import NOT_RUN, Row, number, prose, table, words
from benchmarks.reproductions.measurements import Machine, SpecResults, analysed, analysed_runs_of, made_by, trained
from benchmarks.reproductions.sections import CURVES, Citation, Section
from benchmarks.reproductions.seeds import OfSections
from benchmarks.reproductions.trainings import (
    NOT_COUNTED,
    TIMES_TOLD,
    OrderResult,
    Runs,
    expectation,
    first_evaluations,
    other_metrics,
    results,
    submit,
    to_the_best_of,
)
from benchmarks.reproductions.verdicts import NO_TEST, format_p, summarize
from normcore.papers import find_published_results, papers
from normcore.problem import own_problem
from normcore.spec import ExperimentSpec, TrainingSpec, resolve
from normcore.spec.metric import Metric
from normcore.spec.tasks import BENCHMARKS
from service.artifacts import Artifacts
from service.leaderboards.entry import read_pooled
from service.leaderboards.tables import Entry
from service.wording import listed

NOTHING = Earlier()
CURVES_TOLD = "Validation by updates: mean of the seeds, and its 95% interval"
STAYS = "Rows of {} stand as they were printed before{}. They were measured on "
MEASURED = re.compile(r"[Mm]easured on (.+? commit [^.]+)\.")
PICTURES = "reproductions"  # the folder beside the page
INTRODUCTION = """\
# Reproductions

What the two papers found, measured again with normbench. LN is *Layer Normalization* (Ba et al. 2016,
[arXiv:1607.06450](https://arxiv.org/abs/1607.06450)), RBN is *Recurrent Batch Normalization* (Cooijmans et al. 2017,
[arXiv:1603.09025](https://arxiv.org/abs/1603.09025)). Both report single runs; ours have several seeds, and an interval
is the 95% interval of the mean by Student's t. Sections measured by commits after bd0cfa7 have the boards' numbers,
which are more careful. Their t is at a nominal 97%, so that intervals of few, skewed values are not too short. Their
target counts as reached where two validations hold it. Earlier sections have t at 95% and the first validation that
reaches the target. Each section is what fits into an hour on two CPU cores. So most are smaller than the papers'
experiments. They ask which method comes out ahead, rather than for the papers' figures. The last section says what the
papers' own sizes would take, and what of them was run.

This page is printed by a program, numbers, verdicts and all. To make it anew, submit a section's specs with the
commands that stand there to a `normbench up`, whose data directory the program then reads:

```sh
python -m benchmarks.reproductions --output docs/results/reproductions.md
```

A section or a row of which that service has no run keeps its numbers. The pictures beside this page are drawn by Chrome
or Chromium. Curves are means of the seeds within their 95% interval.

Two methods come out in a given order in all of three seeds in 1 of 8 cases by chance alone, so "3 of 3 seeds" is weak
evidence. Each order therefore has a second verdict: that of a board with the order's specs alone. A board agrees if
each spec is better than the next one and Holm's p is at most 0.05 over all pairs of the order. It cannot tell if p is
larger. The interval is the 95% interval of one difference by Welch's t, without that correction. A series in the end is
compared like a value. Updates to the target are compared by their logarithms; a target that was missed, or reached at
the first evaluation, bounds them.

"Written after looking" stands at an order that no paper states and that we wrote down when we knew the first results.
Such an order describes these seeds; it predicted nothing. The history of `benchmarks/reproductions/sections.yaml` has
the day on which each order was written."""

AT_FULL_SIZE = """\
What one run of each takes, without normalization. Submit `{task: {name: …, profile: paper}, norm: {method: …}}` or a
file of `examples/specs`, which has RBN's text8 and LN's minibatches of 4, too; the board then shows the papers' numbers
beside ours. The searches of RBN Fig. 6 and Table 5 are in `examples/sweeps`."""

WITHOUT_SECTION = """\
## Tables and figures that no section's numbers compare with

Their numbers are in `normcore/papers/`. The tasks are there, and were not run at that size on that data; where a
section above stands in for one, it has data of its own. LN's figures 1 to 5 have no numbers in the text."""


def page(session: Session, artifacts: Artifacts, sections: Sequence[Section], before: Earlier = NOTHING) -> str:
    """Markdown of the whole page, docs/results/reproductions.md.

    Args:
        artifacts: store with the artifacts of the database's runs.
        before: the earlier page, whose text stays where the database has no run.
    """
    measured = [
        refresh(section, before)
        if has_no_run(session, section, before)
        else section_of(session, artifacts, section, before)
        for section in sections
    ]
    glance = at_a_glance(session, sections, before)
    return "\n\n".join([INTRODUCTION, glance, *measured, at_full_size(session, before), not_measured(sections)]) + "\n"


def has_no_run(session: Session, section: Section, before: Earlier) -> bool:
    """Tell if the database has no run of a section that the earlier page has, so that the earlier text stays."""
    return section.title in before.sections and not any(
        trained(session, spec, section.shows) if isinstance(spec, TrainingSpec) else analysed(session, spec)
        for spec in section.resolved().values()
    )


def seeds_of(session: Session, sections: Sequence[Section], before: Earlier = NOTHING) -> OfSections:
    """Results by seed of all sections, for the file beside the page. Seeds read from a printed table are left out."""
    return {
        section.specs: {
            name: seeds
            for name, seeds in seeds_at_hand(section, before, _runs(session, section)).items()
            if not seeds.is_printed
        }
        for section in sections
    }


def at_a_glance(session: Session, sections: Sequence[Section], before: Earlier = NOTHING) -> str:
    """Table "At a glance": a row for each expected order, and for each section of analyses."""
    rows = [row for section in sections for row in _at_a_glance(session, section, before)]
    return "\n\n".join(
        [f"## {GLANCE}", table([("section", "expected by whom, best first", "seen in", "board"), *rows])]
    )


def _at_a_glance(session: Session, section: Section, before: Earlier) -> Iterator[Row]:
    title = f"[{section.title}](#{re.sub(r'[^a-z0-9 _-]', '', section.title.lower()).replace(' ', '-')})"
    stays = has_no_run(session, section, before)
    if not section.orders:
        yield (*before.at_a_glance[section.title][0][:3], "") if stays else (*_claims_held(session, section, title), "")
    for found in judge_orders(section, before, {} if stays else _runs(session, section)):
        yield (title, expectation(found.order), _seen(found), _board(found))
        title = ""


def _claims_held(session: Session, section: Section, title: str) -> Row:
    found = [f for spec in section.resolved().values() if (a := analysed(session, spec)) for f in a.findings]
    holds = [finding["holds"] for finding in found if finding["holds"] is not None]
    return title, "what the paper says", f"{sum(holds)} of {len(holds)} hold" if holds else NOT_RUN


def _seen(result: OrderResult) -> str:
    found = result.held
    if found is None:
        return NOT_COUNTED if result.is_known else "not known yet"
    if found.seeds == found.of:
        return f"all {found.of} seeds" if found.of > 1 else "the only seed"
    return f"{found.seeds} of {found.of} seeds" if found.seeds else f"no seed of {found.of}"


def _board(found: OrderResult) -> str:
    if found.steps is None:
        return "not computed" if found.held or found.is_known else ""
    p_value = [format_p(step.p_value) for step in found.steps if len(found.steps) == 1 and step.outcome != NO_TEST]
    return ", ".join([summarize(found.steps), *p_value])


def _runs(session: Session, section: Section) -> Runs:
    return {name: trained(session, spec, section.shows) for name, spec in section.trainings().items()}


def section_of(session: Session, artifacts: Artifacts, section: Section, before: Earlier = NOTHING) -> str:
    """Markdown of one section. All its specs are trainings, or all are analyses."""
    trainings = section.trainings()
    parts = [f"## {section.title}", prose(section.claims), *map(_published, section.published)]
    parts += _trained(session, artifacts, section, before) if trainings else _analysed(session, section.resolved())
    differs = prose(f"**How far this is from the paper.** {section.differs}")
    return "\n\n".join([*parts, differs, _commands(section)])


def _trained(session: Session, artifacts: Artifacts, section: Section, before: Earlier) -> Iterator[str]:
    specs, runs, text = section.trainings(), _runs(session, section), before.sections.get(section.title, "")
    old_rows = rows_without_run(section, before, runs)
    task = next(iter(specs.values())).task
    metric = task.metric()
    yield results(runs, metric, section.shows, first_evaluations(specs), old_rows)
    yield from other_metrics(runs, task.metrics)
    yield from _samples(artifacts, section, runs, text)
    if section.baseline:
        yield from parts_from(text, TIMES_TOLD) if old_rows else [to_the_best_of(section.baseline, runs, metric)]
    yield from write_orders(section, before, runs)
    machines = [machine for run in runs.values() if run is not None for machine in run.machines]
    for analysis in section.looks_into:
        looked = {name: a for name, spec in specs.items() if (a := analysed_runs_of(session, spec, analysis))}
        yield f"What `{analysis}` found in a run of these:\n\n{findings(looked)}"
        machines += [machine for found in looked.values() for machine in found.machines]
    yield from _origin_of(section, before, old_rows)
    yield from _measured_on(machines)


def _origin_of(section: Section, before: Earlier, old_rows: Mapping[str, Row]) -> Iterator[str]:
    """Sentence on the origin of earlier rows. ``seeds.read_table`` needs it before the sentence on the new runs."""
    measured = MEASURED.search(" ".join(before.sections.get(section.title, "").split()))
    if old_rows and measured is not None:
        things = [*(["the curves"] if section.draws else []), *(["the times"] if section.baseline else [])]
        curves = f", and so do {' and '.join(things)}" if things else ""
        yield prose(f"{STAYS.format(listed(list(map(words, old_rows))), curves)}{measured[1]}.")


def _samples(
    artifacts: Artifacts, section: Section, runs: Mapping[str, SpecResults | None], text: str
) -> Iterator[str]:
    """Yield links to the pictures that ``pictures.draw`` writes, and the beginnings of texts that models made.

    Args:
        text: the earlier text of the section, whose samples stay where the database has no run.
    """
    if any(runs[name] is not None for name in section.draws):
        yield f"![{CURVES_TOLD}]({PICTURES}/{section.specs}/{CURVES})"
    for sample in section.samples:
        run = runs[sample.spec]
        if run is None or run.run_to_show is None:
            yield from parts_from(text, f"{sample.shows}:")
            continue
        if sample.is_text:
            begin = made_by(run.run_to_show, sample.artifact, artifacts).decode().splitlines()[: sample.lines]
            yield "\n".join([f"{sample.shows}:\n", "```text", *begin, "```"])
        else:
            yield f"{sample.shows}:\n\n![{sample.shows}]({PICTURES}/{section.specs}/{sample.file})"


def _analysed(session: Session, specs: Mapping[str, ExperimentSpec]) -> Iterator[str]:
    found = {name: analysis for name, spec in specs.items() if (analysis := analysed(session, spec))}
    yield findings(found)
    yield from _measured_on([machine for analysis in found.values() for machine in analysis.machines])


def _published(citation: Citation) -> str:
    found = citation.results()
    all_valid = all(result.split == "valid" for result in found)
    each = (
        f"{result.model} {', '.join(f'{words(name)} {number(value)}' for name, value in result.values.items())}"
        f"{' in validation' if result.split == 'valid' and not all_valid else ''}"
        f"{f' after {result.updates:,} updates' if result.updates else ''}"
        for result in found
    )
    return prose(f"Published{', in validation' if all_valid else ''} ({found[0].citation}): {'; '.join(each)}.")


def _measured_on(machines: Sequence[Machine]) -> Iterator[str]:
    """Sentence on the origin of the numbers: all machines and commits, and the last day."""
    if machines:
        where = "; ".join(sorted({_hardware(machine) for machine in machines}))
        commits = ", ".join(sorted({(machine.commit or "unknown")[:7] for machine in machines}))
        day = max(machine.finished_at for machine in machines)
        yield prose(f"Measured on {where}; commit {commits}, {day:%Y-%m-%d}.")


def _hardware(machine: Machine) -> str:
    cpu = f"{machine.cpu}, {machine.threads} thread{'s' * (machine.threads > 1)} a run"
    return f"{machine.gpu or cpu}, torch {machine.torch}"


def _commands(section: Section) -> str:
    looks = (
        f"echo '{{task: {{name: {task}, run: run_…}}}}' | normbench submit - --wait" for task in section.looks_into
    )
    return "\n".join(["```sh", submit(section.specs), *looks, "```"])


def at_full_size(session: Session, before: Earlier = NOTHING) -> str:
    """Section on the papers' own sizes: cost of each benchmark's profile ``paper``, the papers' results, and ours."""
    head = ("task", "updates", "FLOP in all", "published (test)", "ours")
    rows = (_at_full_size(session, name, before.full_size.get(name, "not run")) for name in BENCHMARKS)
    return "\n\n".join([f"## {FULL_SIZE}", AT_FULL_SIZE, table([head, *rows])])


def _at_full_size(session: Session, task: str, before: str) -> Row:
    spec = cast(TrainingSpec, resolve({"task": {"name": task, "profile": "paper"}}))
    cost, updates = spec.task.cost(spec.model), spec.training.max_steps
    return (
        task,
        f"{updates:,}",
        "–" if cost is None else f"{cost.flop_of_update(spec.training.batch_size) * updates:.1e}",
        _published_for(task, spec.task.metric()),
        _run_of(session, task) or before,
    )


def _published_for(task: str, metric: Metric) -> str:
    """Test results of the papers on the problem of the profile ``paper``, without results that they quote."""
    own = [r for r in find_published_results(task) if r.can_be_ranked and r.origin is None and not r.options]
    return "; ".join(f"{r.model} {number(r.values[metric.name])}" for r in own if metric.name in r.values) or "–"


def _run_of(session: Session, task: str) -> str:
    """Our results at profile ``paper`` in which only options of the norm differ from the profile."""
    entries = session.scalars(
        select(Entry)
        .where(Entry.task == task, Entry.profile == "paper", Entry.problem == own_problem(task, "paper").id)
        .order_by(Entry.method, Entry.fingerprint)
    )
    whole = [(e, read_pooled(e.pooled)) for e in entries if all(field.startswith("norm.") for field in e.changes)]
    return "; ".join(
        f"{_named(entry)} {number(pooled.value.mean)} ({pooled.n_seeds} seed{'' if pooled.n_seeds == 1 else 's'})"
        for entry, pooled in whole
        if pooled.value is not None
    )


def _named(entry: Entry) -> str:
    changes: Mapping[str, Any] = entry.changes
    options = ", ".join(f"{field.removeprefix('norm.')} {value}" for field, value in changes.items())
    return f"{entry.method} ({options})" if options else entry.method


def not_measured(sections: Sequence[Section]) -> str:
    """Section that lists tables and figures of the papers with numbers that no section cites."""
    cited = {(citation.task, citation.where) for section in sections for citation in section.published}
    found = dict.fromkeys(
        (r.citation, r.task) for paper in papers() for r in paper.results if (r.task, r.where) not in cited
    )
    return "\n\n".join([WITHOUT_SECTION, table([("where", "task"), *sorted(found)])])
