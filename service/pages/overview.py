"""The first page: which methods win on which boards, and what runs now."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from fastapi import Query, Request
from sqlalchemy.orm import Session
from starlette.responses import Response

from normcore.spec.task import ProfileName
from service import wording
from service.db import utc_now
from service.experiments import queries as experiments
from service.experiments.queries import RunProgress
from service.experiments.schemas import ExperimentSummary, State
from service.http.dependencies import AppPartsDep
from service.leaderboards import queries as leaderboards
from service.leaderboards.schemas import LeaderboardSummary
from service.pages.experiments import ExperimentRow, find_tails, rows
from service.pages.leaders import leaders, read_fastest
from service.pages.method_ranks import busiest, profiles_of, rank_table
from service.pages.rendering import page
from service.pages.routing import PageRouter
from service.workload.queries import read_workers_with_runs

router = PageRouter()

SHOWN = 5  # experiments of a list
TOLD: tuple[State, ...] = ("running", "queued", "failed")  # runs that succeeded are not counted


@router.get("/")
def get_overview(
    request: Request, parts: AppPartsDep, profile: Annotated[ProfileName | None, Query()] = None
) -> Response:
    """Overview: the best methods, and what runs now."""
    with parts.db.snapshot() as session:
        boards = [one for one in leaderboards.leaderboards(session) if one.n_entries]
        counts = experiments.runs_by_state(session, TOLD)
        workers = len(read_workers_with_runs(session, parts.settings.heartbeat_seconds))
        shown = profile or busiest(boards)
        standings = rank_table(session, parts.answer_cache, boards, shown) if shown else None
        values: dict[str, Any] = {
            "boards": boards,
            "counts": counts,
            "workers": workers,
            "leaders": leaders(standings) if standings else "",
            "fastest": read_fastest(session, parts.answer_cache, shown) if shown else ("", ""),
            "operations": operations(counts, workers),
            "profile": shown,
            "profiles": profiles_of(boards),
            "standings": standings,
            "facts": facts([board for board in boards if board.profile == shown]),
            "running": _running(session),
            "latest": _read_rows(session, "succeeded"),
            "failed": _read_rows(session, "failed"),
        }
    return page(request, "overview.html", **values)


def facts(boards: Sequence[LeaderboardSummary]) -> list[str]:
    """Facts on the boards of a profile: numbers of tasks, entries and runs."""
    told = [(len({board.task for board in boards}), "task"), (sum(board.n_entries for board in boards), "entry")]
    return [wording.count(number, one) for number, one in (*told, (sum(board.n_runs for board in boards), "run"))]


def operations(counts: Mapping[str, int], workers: int) -> str:
    """Sentence on what runs now: ``3 running, 12 queued, 2 workers, 0 failed``."""
    known = [(counts.get(state, 0), state) for state in ("running", "queued")]
    told = [f"{wording.steps(number)} {state}" for number, state in known]
    told.append(wording.count(workers, "worker"))
    told.append(f"{wording.steps(counts.get('failed', 0))} failed")
    return ", ".join(told)


def _in(session: Session, state: State) -> list[ExperimentSummary]:
    """The newest experiments in a state."""
    return experiments.experiments(session, state=state, limit=SHOWN)


def _read_rows(session: Session, state: State) -> list[ExperimentRow]:
    """The newest experiments in a state, with their values."""
    shown = _in(session, state)
    return rows(shown, experiments.results(session, [experiment.id for experiment in shown]), utc_now())


def _running(session: Session) -> list[dict[str, Any]]:
    """Progress of the newest experiments that run."""
    shown = _in(session, "running")
    runs = experiments.read_progress(session, [one.id for one in shown])
    return [
        {"experiment": one, "tail": tail, **_progress(runs[one.id])}
        for one, tail in zip(shown, find_tails(shown, [one.name for one in shown]), strict=True)
    ]


def _progress(runs: Sequence[RunProgress]) -> dict[str, Any]:
    """Progress of an experiment's runs."""
    known = [run.seconds_left for run in runs if run.seconds_left is not None]
    return {
        "share": sum(run.step for run in runs) / max(1, sum(run.max_steps for run in runs)),
        "ended": sum(run.has_ended for run in runs),
        "seeds": len(runs),
        "left": max(known, default=None),
    }
