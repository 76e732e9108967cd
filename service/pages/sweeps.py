"""The pages of sweeps: all sweeps, and the result of one sweep."""

import json
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import Depends, Path, Query, Request
from starlette.responses import RedirectResponse, Response

from normcore.spec.names import cell_names, option, write_shared_changes
from service import wording
from service.experiments.lifecycle import WAITING
from service.http.dependencies import AppPartsDep
from service.http.pages import AnId
from service.leaderboards.seeds import FEWEST, NEEDED, are_too_few
from service.pages.cells import arrange_cells, has_diverged
from service.pages.forms import own_fields
from service.pages.outcomes import count_diverged_seeds
from service.pages.rendering import page
from service.pages.routing import PageRouter
from service.pages.seeds import more_seeds, too_few
from service.sweeps import api, queries
from service.sweeps.examples import WRITTEN
from service.sweeps.figures import metric_of, subject
from service.sweeps.schemas import BudgetFlip, Sweep, SweepSummary

router = PageRouter()

ON_A_PAGE = 50
NUMBERS_SHOWN = (1, 2, 3, 5, 10, 20, 50, 100)  # numbers of cells tried, in the table that shows the figure as numbers


@router.get("/sweeps")
def get_sweeps(request: Request, parts: AppPartsDep, cursor: Annotated[AnId | None, Query()] = None) -> Response:
    """Page of the list of sweeps."""
    with parts.db.snapshot() as session:
        found = queries.sweeps(session, before=cursor, limit=ON_A_PAGE + 1)
    return page(
        request,
        "sweeps/sweeps.html",
        sweeps=[(one, subject(one), axes(one)) for one in found[:ON_A_PAGE]],
        older=found[ON_A_PAGE - 1].id if len(found) > ON_A_PAGE else None,
        cursor=cursor,
        example=json.dumps(WRITTEN),
    )


@router.get("/sweeps/{sweep_id}")
def get_sweep(request: Request, sweep_id: Annotated[str, Path()], parts: AppPartsDep) -> Response:
    """Page of a sweep: the best setting, and the budget curve."""
    with parts.db.snapshot() as session:
        sweep = queries.sweep(session, parts.answer_cache, sweep_id)
    metric = metric_of(sweep)
    return page(
        request,
        "sweeps/sweep.html",
        sweep=sweep,
        subject=subject(sweep),
        axes=axes(sweep),
        metric=metric,
        claim=claim(sweep),
        diverged=count_diverged_seeds(sweep.cells),
        facts=facts(sweep),
        shown=arrange_cells(sweep, metric),
        flips=[describe_flip(flip, few=_has_few_seeds(sweep)) for flip in sweep.budget_flips],
        more=more_seeds(sweep.best.entry) if sweep.best and sweep.best.entry and too_few(sweep.best.entry) else "",
        budgets=_budgets(sweep),
        may_cancel=sweep.state in WAITING,
        may_retry=any(cell.state in ("failed", "cancelled") for cell in sweep.cells),
    )


@router.post("/sweeps/{sweep_id}/cancel", dependencies=[Depends(own_fields)])
def cancel(sweep_id: Annotated[str, Path()], parts: AppPartsDep) -> Response:
    """Cancel a sweep, and show its page again."""
    with parts.db.transaction() as session:
        api.cancel(session, sweep_id)
    return RedirectResponse(f"/sweeps/{sweep_id}", status_code=303)


@router.post("/sweeps/{sweep_id}/retry", dependencies=[Depends(own_fields)])
def retry(sweep_id: Annotated[str, Path()], parts: AppPartsDep) -> Response:
    """Open new attempts of failed and cancelled runs, and show the sweep's page again."""
    with parts.db.transaction() as session:
        notifications = api.retry(session, sweep_id)
    parts.notifier.notify(notifications)
    return RedirectResponse(f"/sweeps/{sweep_id}", status_code=303)


def axes(sweep: SweepSummary) -> str:
    """Fields that a sweep varies, in words: ``gain_init (3 values) and lr (4 values)``."""
    told = [f"{option(path)} ({wording.count(len(values), 'value')})" for path, values in sweep.grid.items()]
    drawn = [option(path) for path in sweep.random]
    if drawn:
        told.append(f"{wording.count(sweep.samples or 0, 'draw')} of {wording.listed(drawn)}")
    return wording.listed(told)


def claim(sweep: Sweep) -> str:
    """Sentence on the sweep's result."""
    metric = metric_of(sweep)
    if sweep.best is not None and sweep.best.entry is not None and metric is not None:
        entry, best = sweep.best.entry, _name_of_best(sweep)
        value = entry.value.mean if entry.value else None
        so_far = "" if sweep.state == "succeeded" else " so far"
        test = f"{wording.value(value, metric.name)} test {metric.name.replace('_', ' ')}"
        few = too_few(entry)
        if few and sweep.n_experiments > 1:
            return (
                f"Too few seeds to say which cell is best: {best} has the best validation value"
                f"{so_far} and {test}, of {wording.count(few.seeds, 'seed')}. {NEEDED}."
            )
        return f"The best cell{so_far} is {best}: {test}."
    if sweep.state in WAITING:
        return "No cell has a result yet."
    return _why_none(sweep)


def _name_of_best(sweep: Sweep) -> str:
    named = zip(sweep.cells, cell_names([cell.values for cell in sweep.cells]), strict=True)
    return next(name for cell, name in named if sweep.best and cell.fingerprint == sweep.best.fingerprint)


def _why_none(sweep: Sweep) -> str:
    entries = [cell.entry for cell in sweep.cells if cell.entry is not None]
    if not entries:
        return "No cell has a result."
    if all(entry.score is None for entry in entries):
        return "All cells diverged, so no cell is the best."
    if all(entry.score is None or entry.over_budget for entry in entries):
        return "All cells diverged or are over the budget of their board, so no cell is the best."
    return "The cells are on several boards, so their values cannot be compared."


def facts(sweep: Sweep) -> Sequence[str]:
    """Facts on the sweep's progress."""
    progress = sweep.progress
    told = [f"{wording.steps(progress.done)} of {wording.count(progress.total, 'run')} done"]
    alike = write_shared_changes(
        [cell.entry.changes for cell in sweep.cells if cell.entry], [*sweep.grid, *sweep.random]
    )
    told += [f"all cells: {alike}"] if alike else []
    if progress.eta_seconds is not None:
        told.append(f"about {wording.seconds(progress.eta_seconds)} left")
    if sweep.reused_runs:
        told.append(f"{wording.count(sweep.reused_runs, 'run')} of earlier measurements")
    lost = sum(map(has_diverged, sweep.cells))
    if lost:
        told.append(f"{wording.count(lost, 'cell')} diverged in every seed")
    if sweep.adaptive:
        told.append(
            "adaptive: more seeds go to cells whose order is still open; their 95% intervals hold somewhat less often"
        )
    if sweep.best is not None:
        told.append(f"chosen by validation among {wording.count(sweep.n_experiments, 'cell')}")
    return told


def _has_few_seeds(sweep: Sweep) -> bool:
    return any(cell.entry is not None and are_too_few(cell.entry.n_seeds) for cell in sweep.cells)


def describe_flip(flip: BudgetFlip, *, few: bool) -> str:
    """Sentence on a flip: from which number of cells on another method is better.

    Args:
        few: whether some cells have too few seeds to be ranked.
    """
    cells = wording.count(flip.k, "cell")
    doubts = [f"there are few ways to choose {cells}"] if flip.is_uncertain else []
    doubts += [f"some cells have fewer than {FEWEST} seeds"] if few else []
    doubt = f" (uncertain: {', and '.join(doubts)})" if doubts else ""
    return f"From {cells} on, {flip.better} is better than {flip.worse}{doubt}."


def _budgets(sweep: Sweep) -> Any:
    """Table of the budget curves: numbers of cells, and each method's values there; None if there are no curves."""
    most = max((len(points) for points in sweep.budget_curve.values()), default=0)
    numbers = sorted({k for k in NUMBERS_SHOWN if k < most} | {most}) if most else []
    rows = {
        method: [points[k - 1] if k <= len(points) else None for k in numbers]
        for method, points in sweep.budget_curve.items()
    }
    return {"numbers": numbers, "rows": rows} if rows else None
