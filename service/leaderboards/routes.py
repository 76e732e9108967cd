"""Leaderboards over HTTP."""

from typing import Annotated, Literal

from fastapi import Query, Request, Response

from normcore.spec import SpecError
from normcore.spec.methods import METHODS
from normcore.spec.task import DEFAULT_PROFILE, ProfileName
from normcore.spec.tasks import BENCHMARKS
from service.errors import Invalid, NotFound
from service.http.dependencies import AppPartsDep, DatabaseDep
from service.http.openapi import JSON, answers, refusals
from service.http.routing import Router, check_found, check_known
from service.http.tables import BY_ACCEPT, WantedPaperFormat, also_as_file, as_file, json_answer
from service.leaderboards import examples, overall, parameters, queries
from service.leaderboards.columns import (
    FILE_EXAMPLE,
    FILE_ROW,
    OVERALL_EXAMPLE,
    OVERALL_ROW,
    board_table,
    overall_table,
)
from service.leaderboards.moments import Moment
from service.leaderboards.schemas import LEADERBOARD, OVERALL, Leaderboard, LeaderboardList, Overall

router = Router(prefix="/v1/leaderboards", tags=["leaderboards"])


@router.get("", responses=answers(examples.LEADERBOARDS))
def list_leaderboards(db: DatabaseDep) -> LeaderboardList:
    """List the boards (task, profile, problem) that have entries, measured or claimed."""
    with db.snapshot() as session:
        return LeaderboardList(items=queries.leaderboards(session))


@router.get(
    "/overall",
    response_model=Overall,
    responses=also_as_file(answers(examples.OVERALL), OVERALL_ROW, OVERALL_EXAMPLE, paper=True),
)
def get_overall(
    request: Request,
    parts: AppPartsDep,
    format: WantedPaperFormat,
    profile: parameters.ProfileOfAll = DEFAULT_PROFILE,
    rank_by: parameters.ComparedBy = "steps_to_target",
) -> Response:
    """Performance profiles over all tasks: how often a method's default spec is within a factor of the fastest method,
    and the area under this curve (Dolan and More 2002, Dahl et al. 2023)."""
    with parts.db.snapshot() as session:
        if format != "json":
            return as_file(overall_table(overall.overall(session, profile, rank_by)), format, address=request.url)
        return parts.answer_cache.respond(
            request,
            ("overall", profile, rank_by),
            overall.version(session, profile),
            lambda: OVERALL.dump_json(overall.overall(session, profile, rank_by)),
            media_type=JSON,
            headers=BY_ACCEPT,
        )


@router.get(
    "/{task}",
    response_model=Leaderboard,
    responses=also_as_file(
        answers(examples.LEADERBOARD, also={"published": examples.PUBLISHED}), FILE_ROW, FILE_EXAMPLE, paper=True
    )
    | refusals(NotFound),
)
def get_leaderboard(
    request: Request,
    task: parameters.TaskName,
    parts: AppPartsDep,
    format: WantedPaperFormat,
    profile: Annotated[ProfileName, Query(description="The task's size.", examples=["small"])] = DEFAULT_PROFILE,
    rank_by: parameters.RankedBy = "metric",
    baseline: Annotated[
        str,
        Query(
            description="The method that speed-ups are measured against.",
            json_schema_extra={"enum": sorted(METHODS)},
            examples=["none"],
        ),
    ] = "none",
    problem: parameters.Problem = None,
    published: Annotated[
        bool,
        Query(
            description="Also rank the numbers of papers, both a paper's own and those that it quotes.",
            examples=[True],
        ),
    ] = False,
    over_budget: Annotated[
        bool,
        Query(description="Also rank entries that had more than the board's budget.", examples=[True]),
    ] = False,
    entries: parameters.Entries = "all",
    code: Annotated[
        Literal["present", "all"],
        Query(
            description="`all`: also show entries of older code, without a rank.",
            examples=["all"],
        ),
    ] = "present",
    as_of: Annotated[
        Moment | None,
        Query(description="Show the board of this moment; if omitted, of now.", examples=["2026-11-25T12:00:00Z"]),
    ] = None,
) -> Response:
    """Ranked entries of a board. An entry pools all succeeded runs that share a fingerprint, over their seeds."""
    check_found("leaderboard of", task, BENCHMARKS)
    check_known("baseline", baseline, METHODS)
    if as_of is not None and code == "all":
        wrong = "a board of a past moment shows the code of that moment only; leave out code=all or as_of"
        raise Invalid([SpecError(("code",), wrong, "contradiction")])
    asked = queries.BoardRequest(
        task, profile, problem, rank_by, baseline, published, over_budget, entries == "best", code == "all"
    )
    with parts.db.snapshot() as session:
        if format != "json":
            return as_file(board_table(queries.leaderboard(session, asked, as_of)), format, address=request.url)

        def make_board() -> bytes:
            return LEADERBOARD.dump_json(queries.leaderboard(session, asked, as_of))

        if as_of is not None:
            return json_answer(make_board())
        version = queries.version(session, task, profile)
        return parts.answer_cache.respond(request, asked, version, make_board, media_type=JSON, headers=BY_ACCEPT)
