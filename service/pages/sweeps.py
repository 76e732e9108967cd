"""The pages of sweeps: all sweeps, and the result of one sweep."""

import json
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any

from fastapi import Depends, Path, Query, Request
from starlette.responses import RedirectResponse, Response

from normcore.spec.metric import Metric
from normcore.spec.names import option, write_shared_changes
from service import wording
from service.experiments.lifecycle import WAITING
from service.http.dependencies import AppParts, AppPartsDep
from service.http.pages import AnId
from service.http.readers import in_slow_reader
from service.leaderboards.seeds import FEWEST, are_too_few
from service.pages.cells import has_diverged, list_cells, show_cells
from service.pages.forms import own_fields
from service.pages.heat import make_heat
from service.pages.outcomes import count_diverged_seeds
from service.pages.rendering import answer_from_cache, html, page
from service.pages.routing import PageRouter
from service.pages.seeds import more_seeds, too_few
from service.pages.sweep_choices import SweepChoices, SweepChoicesDep
from service.sweeps import api, queries
from service.sweeps.examples import WRITTEN
from service.sweeps.figures import metric_of, subject
from service.sweeps.levels import Field, fields_of
from service.sweeps.schemas import BudgetFlip, Importance, Sweep, SweepSummary

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
def get_sweep(
    request: Request, sweep_id: Annotated[str, Path()], chosen: SweepChoicesDep, parts: AppPartsDep
) -> Response:
    """Page of a sweep: which cells tie for first, a heat table, the budget curve, and the cells."""
    with parts.db.snapshot() as session:
        version = queries.version(session, sweep_id)
        return answer_from_cache(
            request,
            parts,
            version,
            lambda: _html(request, queries.sweep(session, parts.answer_cache, sweep_id), chosen),
        )


def _html(request: Request, sweep: Sweep, chosen: SweepChoices) -> str:
    """HTML of a sweep's page.

    Raises:
        Invalid: a choice of the address does not exist.
    """
    metric, fields = metric_of(sweep), fields_of(sweep)
    choices, shown = chosen.check(fields), show_cells(sweep)
    return html(
        request,
        "sweeps/sweep.html",
        sweep=sweep,
        subject=subject(sweep),
        axes=axes(sweep),
        metric=metric,
        diverged=count_diverged_seeds(sweep.cells),
        facts=facts(sweep),
        fields=fields,
        choices=choices,
        to=partial(choices.address, sweep.id),
        heat=make_heat(shown, fields, metric, choices),
        cells=list_cells(shown, fields, metric, choices),
        sorts=_sorts(fields, metric),
        states=_states(sweep),
        flips=[describe_flip(flip, few=_has_few_seeds(sweep)) for flip in sweep.budget_flips],
        more=more_seeds(sweep.best.entry) if sweep.best and sweep.best.entry and too_few(sweep.best.entry) else "",
        budgets=_budgets(sweep),
        may_cancel=sweep.state in WAITING,
        may_retry=any(cell.state in ("failed", "cancelled") for cell in sweep.cells),
    )


@router.get("/sweeps/{sweep_id}/importance")
async def get_importance(request: Request, sweep_id: Annotated[str, Path()], parts: AppPartsDep) -> Response:
    """Page of the importance of a sweep's fields. The page of the sweep takes the section from here."""
    found = await in_slow_reader(_importance, parts, sweep_id)
    return page(request, "sweeps/importance.html", sweep_id=sweep_id, found=found, widest=_widest(found))


def _importance(parts: AppParts, sweep_id: str) -> Importance:
    with parts.db.snapshot() as session:
        return queries.importance(session, parts.answer_cache, sweep_id)


def _widest(found: Importance) -> float:
    return max((field.importance for field in found.fields), default=0.0) or 1.0


def _sorts(fields: Sequence[Field], metric: Metric | None) -> list[tuple[str, str]]:
    """Columns by which the cells may be sorted, with their titles."""
    of_values = [("validation", "Validation"), ("test", "Test"), ("rank", "Rank")] if metric else []
    return [
        *of_values,
        ("seeds", "Seeds"),
        ("state", "State"),
        *((field.path, field.name) for field in fields),
    ]


def _states(sweep: Sweep) -> list[tuple[str, str]]:
    """Choices of the filter by state: the states of the sweep's cells."""
    found = sorted({cell.state for cell in sweep.cells})
    diverged = any(cell.entry and cell.entry.n_diverged for cell in sweep.cells)
    return [("", "all states"), *map(wording.pair, [*found, *(["diverged"] if diverged else [])])]


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
        told += _interval(sweep)
    return told


def _interval(sweep: Sweep) -> list[str]:
    """Fact on the interval of the best cell; empty if it has none."""
    value = sweep.best and sweep.best.entry and sweep.best.entry.value
    if not value or value.ci95 is None or sweep.metric is None:
        return []
    return [f"the best: {wording.interval_in_words(value.ci95, sweep.metric)}"]


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
