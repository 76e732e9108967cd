"""Figures of answers: as JSON, which pages draw, or printed as files for papers."""

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from fastapi import Depends, Query, Response

from normcore.figures import Figure, Theme, as_json
from normcore.spec import SpecError
from service.errors import Invalid, NotInstalled
from service.http.openapi import JSON, Responses, headers, refusals
from service.http.tables import UNUSUAL
from service.paper.printing import PrintFormat, print_figure
from service.paper.width import COLUMN, read_width

FigureFormat = Literal["json", "svg", "pdf", "png"]
PRINTED: dict[PrintFormat, str] = {"svg": "image/svg+xml", "pdf": "application/pdf", "png": "image/png"}


@dataclass(frozen=True, slots=True)
class FigureForm:
    """Form in which a client wants a figure.

    Attributes:
        format: format of the file; None for JSON.
        width: width of the file in inches.
    """

    format: PrintFormat | None
    width: float

    def theme(self, wanted: Theme) -> Theme:
        """Theme of the figure: paper is light."""
        return "light" if self.format else wanted


async def _read_form(
    format: Annotated[
        FigureFormat | None, Query(description="Format of the figure; JSON if omitted.", examples=["pdf"])
    ] = None,
    width: Annotated[
        str | None,
        Query(
            max_length=40,
            description=f"Width of `svg`, `pdf` and `png`, with `in`, `cm`, `mm` or `pt`; {COLUMN} if omitted.",
            examples=["6.75in"],
        ),
    ] = None,
) -> FigureForm:
    if format is None or format == "json":
        if width is not None:
            formats = ", ".join(get_args(PrintFormat))
            raise Invalid([SpecError(("width",), f"only files have a width; add format= with {formats}", "no_width")])
        return FigureForm(None, 0.0)
    return FigureForm(format, read_width(COLUMN if width is None else width))


WantedFigureForm = Annotated[FigureForm, Depends(_read_form)]


def figure_answer(figure: Figure, form: FigureForm, name: str) -> Response:
    """Answer with a figure in the form that the client wants. Printing takes tenths of a second: call it in a thread.

    Args:
        name: name of the file, without its suffix.
    """
    if form.format is None:
        return Response(as_json(figure), media_type=JSON)
    content = print_figure(figure, form.format, form.width)
    named = {"Content-Disposition": f'attachment; filename="{UNUSUAL.sub("-", name)}.{form.format}"'}
    return Response(content, media_type=PRINTED[form.format], headers=named)


def also_printed(responses: Responses) -> Responses:
    """Describe a route whose figure also comes as a file."""
    ok = responses[200]
    schema = {"type": "string", "format": "binary", "description": "The figure in print, with its fonts."}
    content = {**ok["content"], **{kind: {"schema": schema} for kind in PRINTED.values()}}
    more = {**ok.get("headers", {}), **headers("Content-Disposition", required=False)}
    return {**responses, 200: {**ok, "content": content, "headers": more}, **refusals(NotInstalled)}
