"""Comparisons over HTTP."""

from typing import Annotated

from fastapi import Path, Query, Request, Response

from normcore.figures import Theme
from normcore.spec.methods import METHODS
from normcore.spec.task import DEFAULT_PROFILE, ProfileName
from normcore.spec.tasks import BENCHMARKS
from service.comparisons import examples, figures, queries
from service.comparisons.columns import FILE_EXAMPLE, FILE_ROW, comparison_table
from service.comparisons.schemas import COMPARISON, Comparison
from service.errors import NotFound
from service.experiments.examples import FINGERPRINT
from service.experiments.parameters import NO_NUL, Beginning
from service.experiments.schemas import FigureOut
from service.http.dependencies import DatabaseDep
from service.http.figures import WantedFigureForm, also_printed, figure_answer
from service.http.openapi import answers, refusals
from service.http.routing import Router, check_found, check_known
from service.http.tables import WantedPaperFormat, also_as_file, as_file, json_answer
from service.leaderboards import overall, parameters
from service.leaderboards import queries as leaderboards
from service.statistics.times import TimeUnit

MOST = 12  # entries; more lines in a figure cannot be told apart
router = Router(prefix="/v1/comparisons", tags=["comparisons"])
of_boards = Router(prefix="/v1/leaderboards", tags=["leaderboards"])

Fingerprints = Annotated[
    list[Beginning],
    Query(
        min_length=2,
        max_length=MOST,
        description="Fingerprint of an entry, or its first 8 or more characters; repeat the parameter for each entry.",
        examples=[[FINGERPRINT[:12], examples.OTHER[:12]]],
    ),
]
Baseline = Annotated[
    Beginning | None,
    Query(
        description="The fingerprint of the entry that others are compared with. If omitted: the first entry without"
        " normalization, or else the first entry.",
        examples=[examples.OTHER[:12]],
    ),
]
Series = Annotated[
    str | None,
    Query(
        max_length=64,
        description="The series of the curves. If omitted: the metric that ranks, on validation data.",
        examples=["valid.accuracy"],
    ),
]
FigureTheme = Annotated[Theme, Query(description="The colours of the figure.", examples=["dark"])]
X = Annotated[TimeUnit, Query(description="The x axis of curves.", examples=["seconds"])]


@router.get(
    "",
    response_model=Comparison,
    responses=also_as_file(answers(examples.COMPARISON), FILE_ROW, FILE_EXAMPLE, paper=True) | refusals(NotFound),
)
def get_comparison(
    request: Request,
    db: DatabaseDep,
    format: WantedPaperFormat,
    fingerprint: Fingerprints,
    baseline: Baseline = None,
    series: Series = None,
) -> Response:
    """Compare entries of one board: curves with bands, differences, and speed-ups with their two factors."""
    with db.snapshot() as session:
        found = queries.comparison(session, fingerprint, baseline, series)
    if format == "json":
        return json_answer(COMPARISON.dump_json(found))
    return as_file(comparison_table(found), format, address=request.url)


@router.get(
    "/figures/{name}", response_model=FigureOut, responses=also_printed(answers(examples.FIGURE)) | refusals(NotFound)
)
def get_figure(
    db: DatabaseDep,
    name: Annotated[
        str,
        Path(
            pattern=NO_NUL,
            description="`curves`, `differences`, `speedups` or `survival`.",
            examples=["differences"],
        ),
    ],
    form: WantedFigureForm,
    fingerprint: Fingerprints,
    baseline: Baseline = None,
    series: Series = None,
    x: X = "steps",
    theme: FigureTheme = "light",
) -> Response:
    """A figure of a comparison as Plotly JSON, as the pages draw it, or as a file for a paper."""
    check_found("figure of a comparison", name, figures.OF_COMPARISONS)
    with db.snapshot() as session:
        comparison = queries.comparison(session, fingerprint, baseline, series)
    figure = figures.of_comparison(comparison, name, x, form.theme(theme))
    return figure_answer(figure, form, f"comparison-{comparison.task}-{comparison.profile}-{name}")


@of_boards.get(
    "/overall/figures/{name}",
    response_model=FigureOut,
    responses=also_printed(answers(examples.FIGURE)) | refusals(NotFound),
)
def get_figure_of_all_boards(
    db: DatabaseDep,
    name: Annotated[str, Path(pattern=NO_NUL, description="`profiles`.", examples=["profiles"])],
    form: WantedFigureForm,
    profile: parameters.ProfileOfAll = DEFAULT_PROFILE,
    rank_by: parameters.ComparedBy = "steps_to_target",
    theme: FigureTheme = "light",
) -> Response:
    """Performance profiles of all methods as Plotly JSON, as the pages draw them, or as a file for a paper."""
    check_found("figure of all boards", name, figures.OF_ALL_BOARDS)
    with db.snapshot() as session:
        found = overall.overall(session, profile, rank_by)
    return figure_answer(figures.of_all_boards(found, form.theme(theme)), form, f"overall-{profile}-{name}")


@of_boards.get(
    "/{task}/figures/{name}",
    response_model=FigureOut,
    responses=also_printed(answers(examples.FIGURE)) | refusals(NotFound),
)
def get_figure_of_a_board(
    db: DatabaseDep,
    task: parameters.TaskName,
    name: Annotated[str, Path(pattern=NO_NUL, description="`curves` or `intervals`.", examples=["curves"])],
    form: WantedFigureForm,
    profile: Annotated[ProfileName, Query(description="The task's size.", examples=["small"])] = DEFAULT_PROFILE,
    problem: parameters.Problem = None,
    rank_by: parameters.RankedBy = "metric",
    baseline: Annotated[
        str,
        Query(
            description="The method with the value that a line marks.",
            json_schema_extra={"enum": sorted(METHODS)},
            examples=["none"],
        ),
    ] = "none",
    entries: parameters.Entries = "all",
    x: X = "steps",
    theme: FigureTheme = "light",
) -> Response:
    """A figure of a board as Plotly JSON, as the pages draw it, or as a file for a paper; curves are those of the best
    eight entries."""
    check_found("leaderboard of", task, BENCHMARKS)
    check_found("figure of a board", name, figures.OF_BOARDS)
    check_known("baseline", baseline, METHODS)
    asked = leaderboards.BoardRequest(task, profile, problem, rank_by, baseline, best=entries == "best")
    with db.snapshot() as session:
        figure = figures.of_board(session, leaderboards.leaderboard(session, asked), name, x, form.theme(theme))
    return figure_answer(figure, form, f"{task}-{profile}-{name}")
