"""Report cards over HTTP."""

from typing import Annotated

from fastapi import Path, Request, Response

from normcore.spec.methods import METHODS
from service.errors import NotFound
from service.experiments import examples as experiments
from service.experiments.parameters import FigureTheme
from service.experiments.schemas import FigureOut
from service.http.dependencies import AppPartsDep
from service.http.figures import WantedFigureForm, also_printed, figure_answer
from service.http.openapi import JSON, answers, refusals
from service.http.routing import Router, check_found
from service.http.tables import BY_ACCEPT, WantedPaperFormat, also_as_file, as_file
from service.report_cards import examples, figures, queries
from service.report_cards.columns import FILE_EXAMPLE, FILE_ROW, report_card_table
from service.report_cards.schemas import ReportCard

router = Router(prefix="/v1/methods", tags=["report cards"])


Name = Annotated[str, Path(description="The method's name.", examples=["layer_norm"])]


@router.get(
    "/{name}/report-card",
    response_model=ReportCard,
    responses=also_as_file(answers(examples.REPORT_CARD), FILE_ROW, FILE_EXAMPLE, paper=True) | refusals(NotFound),
)
def get_report_card(request: Request, name: Name, parts: AppPartsDep, format: WantedPaperFormat) -> Response:
    """Measurements of a method: invariances, gradient flow, cost of a training step, the smallest batch that trains,
    and the method's standing on each leaderboard. `missing` lists specs of analyses that were not run yet, ready to
    submit.
    """
    check_found("method", name, METHODS)
    with parts.db.snapshot() as session:
        if format == "json":
            return parts.answer_cache.respond(
                request,
                queries.key_of_card(name),
                queries.version(session, name),
                lambda: queries.report_card(session, name).model_dump_json().encode(),
                media_type=JSON,
                headers=BY_ACCEPT,
            )
        card = queries.cached_report_card(session, parts.answer_cache, name)
    return as_file(report_card_table(card), format, address=request.url)


@router.get(
    "/{name}/report-card/figures/{figure}",
    response_model=FigureOut,
    responses=also_printed(answers(experiments.FIGURE)) | refusals(NotFound),
)
def get_figure(
    name: Name,
    figure: Annotated[
        str,
        Path(
            description="`gradients-` and the name of a cell in which gradients were measured.",
            examples=["gradients-lstm"],
        ),
    ],
    parts: AppPartsDep,
    form: WantedFigureForm,
    theme: FigureTheme = "light",
) -> Response:
    """A figure of a report card as Plotly JSON, as the pages draw it, or as a file for a paper."""
    check_found("method", name, METHODS)
    with parts.db.snapshot() as session:
        card = queries.cached_report_card(session, parts.answer_cache, name)
        check_found(f"figure of {name}", figure, figures.names(card))
        drawn = figures.draw(session, card, figure, form.theme(theme))
    return figure_answer(drawn, form, f"{name}-{figure}")
