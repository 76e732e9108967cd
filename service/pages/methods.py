"""The pages of methods: all methods, and the report card of one method."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

from fastapi import Path, Query, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from normcore.events import Finding
from normcore.spec import TASKS
from normcore.spec.methods import METHODS
from normcore.spec.task import ProfileName
from service import wording
from service.catalogue import descriptions
from service.catalogue.equations import OF_NORMS, equation_of
from service.experiments.downsampling import spread
from service.http.answer_cache import AnswerCache
from service.http.dependencies import AppPartsDep
from service.http.routing import check_found
from service.leaderboards import queries as leaderboards
from service.leaderboards.seeds import NEEDED, describe_seed_count
from service.pages.method_costs import cell_costs, unmeasured_cells
from service.pages.method_ranks import busiest, profiles_of, rank_table
from service.pages.options import options_of
from service.pages.rendering import answer_from_cache, html, page
from service.pages.routing import PageRouter
from service.report_cards import costs, figures, queries
from service.report_cards.schemas import CellOut, MeasuredOut, ReportCard

router = PageRouter()

COLUMNS = 6  # of the table that shows the curves of gradients as numbers
FLOW = "gradient_norm"
MOST_TIED = 2  # names of tied entries
CHOOSE = "Choose it"  # begins the paragraph of a docstring that says when to choose the method


@router.get("/methods")
def get_methods(
    request: Request, parts: AppPartsDep, profile: Annotated[ProfileName | None, Query()] = None
) -> Response:
    """Page of all methods, with their standings on the boards."""
    with parts.db.snapshot() as session:
        boards = [one for one in leaderboards.leaderboards(session) if one.n_entries]
        shown = profile or busiest(boards)
        values: dict[str, Any] = {
            "profile": shown,
            "profiles": profiles_of(boards),
            "standings": rank_table(session, parts.answer_cache, boards, shown) if shown else None,
        }
    return page(request, "methods/methods.html", methods=[descriptions.method(name) for name in METHODS], **values)


@router.get("/methods/{name}")
def get_method(request: Request, name: Annotated[str, Path()], parts: AppPartsDep) -> Response:
    """Page of a method: what it does, and what it costs."""
    check_found("method", name, METHODS)
    with parts.db.snapshot() as session:
        return answer_from_cache(
            request,
            parts,
            queries.version(session, name),
            lambda: html(request, "methods/method.html", **_collect_values(session, parts.answer_cache, name)),
        )


def _collect_values(session: Session, answer_cache: AnswerCache, name: str) -> dict[str, Any]:
    """Values of a method's page."""
    places = queries.find_places(session, name)
    card = queries.cached_report_card(session, answer_cache, name, places)
    boards = costs.board_costs(session, places)
    method = descriptions.method(name)
    return {
        "method": method,
        "text": split_description(method.description),
        "equation": equation_of(METHODS[name], OF_NORMS),
        "card": card,
        "claim": claim(card),
        "costs": (known := cell_costs(card.cells, boards)),
        "unmeasured": unmeasured_cells(card.cells, known),
        "list_tied": list_tied,
        "board_costs": {(one.task, one.profile, one.problem): one for one in boards},
        "standings": sorted(card.standings, key=lambda one: (one.task, one.profile)),
        "describe_seed_count": describe_seed_count,
        "cells": {cell: _in_cell(found) for cell, found in card.cells.items()},
        "findings": findings(card),
        "missing": [_to_measure(spec) for spec in card.missing],
        "flows": {
            figure: [(label, spread(points, COLUMNS)) for label, points in figures.flows(session, card, figure).items()]
            for figure in figures.names(card)
        },
        "options": options_of(METHODS[name].model_json_schema(), without=("method",)),
        "tasks": [task for task in TASKS if name in descriptions.task(task).methods],
    }


def claim(card: ReportCard) -> str:
    """Sentence on the method's ranks on the boards."""
    placed = [one for one in card.standings if one.shared_rank is not None]
    ranked = [one for one in placed if not one.too_few_seeds]
    if placed and not ranked:
        return f"Too few seeds to rank it on any board: {NEEDED}."
    if not ranked:
        return _explain_missing_rank(card)
    best = min(ranked, key=lambda one: (one.shared_rank or 0, -one.of))
    first = [one for one in ranked if one.shared_rank == 1]
    surely = sum(one.rank_ci is not None and one.rank_ci[1] == 1 for one in first)
    where = f"{best.task}, {best.profile}"
    boards = wording.count(len(card.standings), "board")
    if len(first) > 1 and surely == len(first):
        return f"It ranks first on {surely} of {boards}."
    if len(first) > 1:
        return f"It has rank 1 on {len(first)} of {boards}, and is surely first on {surely or 'none'} of these."
    tied = f", tied with {list_tied(best.tied_with)}" if best.tied_with else ""
    return f"Its best rank is {best.shared_rank} of {best.of}{tied} ({where})."


def list_tied(names: Sequence[str]) -> str:
    """Names of tied entries in few words: at most ``MOST_TIED`` names, and how many others."""
    others = len(names) - MOST_TIED
    if others <= 1:
        return wording.listed(names)
    return f"{', '.join(names[:MOST_TIED])} and {others} others"


def _explain_missing_rank(card: ReportCard) -> str:
    if not card.standings:
        return "It is on no board yet."
    diverged = all(one.n_diverged == one.n_seeds for one in card.standings)
    on_all = "on its only board" if len(card.standings) == 1 else f"on all {len(card.standings)} boards"
    return f"All of its runs diverged, {on_all}." if diverged else "It has no rank on any board."


class Description(NamedTuple):
    """Docstring of a method in parts.

    Attributes:
        what: what the method does; the first paragraph.
        when: when to choose it; the paragraph that begins with ``Choose it``, or empty.
        more: all other paragraphs.
    """

    what: str
    when: str
    more: Sequence[str]


def split_description(text: str) -> Description:
    """Split the docstring of a method."""
    what, *others = text.split("\n\n")
    when = [paragraph for paragraph in others if paragraph.startswith(CHOOSE)]
    return Description(what, " ".join(when), [paragraph for paragraph in others if not paragraph.startswith(CHOOSE)])


@dataclass(frozen=True)
class InCell:
    """Measurements of a method in one cell; None for a measurement that is missing.

    Attributes:
        flow: gains of the method, by the verdict on the gradient with these gains.
    """

    cost: str | None
    cost_limits: str | None
    memory: str | None
    smallest_batch: str | None
    flow: Mapping[str, Sequence[str]] | None
    device: str | None


def _in_cell(found: CellOut) -> InCell:
    values = _values(found.step_cost)
    batch = _values(found.smallest_batch).get("smallest_batch")
    limits = (values.get("ratio.low"), values.get("ratio.high"))
    return InCell(
        cost=wording.ratio(values.get("ratio")) if found.step_cost else None,
        cost_limits=wording.ratio_interval(limits) if all(limit is not None for limit in limits) else None,
        memory=wording.ratio(values["memory_ratio"]) if "memory_ratio" in values else None,
        smallest_batch=None if found.smallest_batch is None else "none" if batch is None else wording.steps(batch),
        flow=_flow(found.gradient_flow) if found.gradient_flow else None,
        device=found.step_cost.device if found.step_cost else None,
    )


def _values(measured: MeasuredOut | None) -> dict[str, float | None]:
    return {finding.name: finding.value for finding in measured.findings} if measured else {}


def _flow(measured: MeasuredOut) -> Mapping[str, Sequence[str]]:
    gains: dict[str, list[str]] = {}
    for finding in measured.findings:
        if finding.name.startswith(FLOW) and finding.verdict is not None:
            gain = finding.parameters.get("gain")
            gains.setdefault(finding.verdict, []).extend([] if gain is None else [f"{gain:g}"])
    return gains


class Found(NamedTuple):
    """Finding of an analysis, with the id of the run that measured it."""

    analysis: str
    run_id: str
    finding: Finding


def findings(card: ReportCard) -> list[Found]:
    """All findings of a report card. Findings whose source makes a claim come first."""
    measured = [("invariances", card.invariances)]
    for cell, found in card.cells.items():
        measured += [
            (f"gradient flow, {cell}", found.gradient_flow),
            (f"cost of a step, {cell}", found.step_cost),
            (f"smallest batch, {cell}", found.smallest_batch),
        ]
    every = [Found(name, one.run_id, finding) for name, one in measured if one for finding in one.findings]
    return sorted(every, key=lambda one: one.finding.claim is None)


def _to_measure(spec: Mapping[str, Any]) -> tuple[str, Mapping[str, str]]:
    """Name of an analysis that can be submitted, and its spec as fields of a form."""
    fields = {f"{part}.{option}": str(value) for part, options in spec.items() for option, value in options.items()}
    cell = fields.get("model.cell")
    name = fields["task.name"].replace("_", " ")
    return f"{name} in {cell}" if cell else name, fields
