"""Rows as files, beside JSON: CSV and Parquet for programs, LaTeX and Markdown for papers.

A room declares the columns of its tables. The name of a column is the path of its value in the JSON, as ``value.mean``,
and does not change. Texts that users write freely, such as labels, stand in JSON cells. They begin with a bracket, so
no spreadsheet takes them for a formula, and every character survives.

A table that people put into papers also declares its ``paper`` tables: few columns, with numbers as pages show them.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar, get_args

from fastapi import Depends, Query, Request, Response
from pydantic_core import to_json, to_jsonable_python
from starlette.datastructures import URL

from normcore.spec.messages import quote_value
from service.errors import NotAcceptable
from service.http.openapi import JSON, Document, Responses, headers, refusals
from service.paper.table import PaperTable

if TYPE_CHECKING:
    from pyarrow import Array, DataType

Kind = Literal["text", "integer", "number", "truth", "moment", "json"]
DataFormat = Literal["csv", "parquet"]
FileFormat = Literal["csv", "parquet", "latex", "markdown"]
Format = Literal["json", "csv", "parquet"]
PaperFormat = Literal["json", "csv", "parquet", "latex", "markdown"]
F = TypeVar("F", bound=PaperFormat)
CSV, PARQUET = "text/csv", "application/vnd.apache.parquet"
LATEX, MARKDOWN = "application/x-tex", "text/markdown"
MEDIA_TYPES: Mapping[PaperFormat, str] = {  # the first of equals is preferred
    "json": JSON,
    "csv": CSV,
    "parquet": PARQUET,
    "latex": LATEX,
    "markdown": MARKDOWN,
}
SUFFIXES: Mapping[FileFormat, str] = {"csv": "csv", "parquet": "parquet", "latex": "tex", "markdown": "md"}
ON_PAPER: Mapping[str, Document] = {
    LATEX: {
        "schema": {"type": "string", "description": "A table with booktabs; with many rows it needs longtable, too."},
        "example": "\\begin{tabular}{@{}lr@{}}\n\\toprule\nMethod & Test accuracy (\\%) \\\\\n",
    },
    MARKDOWN: {
        "schema": {"type": "string", "description": "A table as GitHub and pandoc read it."},
        "example": "| Method | Test accuracy (%) |\n| :--- | ---: |\n| layer_norm | **95.38** |\n",
    },
}
BY_ACCEPT = {"Vary": "Accept"}
UNUSUAL = re.compile(r"[^A-Za-z0-9_.-]+")  # in a file's name


@dataclass(frozen=True, slots=True)
class ExportColumn:
    """Column of a table.

    Attributes:
        of: function that gives the cell for a row; if None, the column's name is the path to the cell.
    """

    name: str
    kind: Kind
    of: Callable[[Any], Any] | None = None

    def cells(self, rows: Sequence[Any]) -> list[Any]:
        if self.of is not None:
            return [self.of(row) for row in rows]
        names = self.name.split(".")
        return [follow_names(row, names) for row in rows]


@dataclass(frozen=True, slots=True)
class ExportTable:
    """Table that can be answered as a file.

    Attributes:
        name: name of the file, without its suffix.
        paper: function that makes the tables for a paper; None for a table that has no such form.
    """

    name: str
    columns: Sequence[ExportColumn]
    rows: Sequence[Any]
    paper: Callable[[], Sequence[PaperTable]] | None = None


def interval(name: str, kind: Kind = "number") -> tuple[ExportColumn, ExportColumn]:
    """Build columns for the lower and the upper limit of an interval. Rows without an interval have empty cells."""
    names = name.split(".")

    def limit(k: int) -> Callable[[Any], Any]:
        return lambda row: None if (limits := follow_names(row, names)) is None else limits[k]

    return ExportColumn(f"{name}.low", kind, limit(0)), ExportColumn(f"{name}.high", kind, limit(1))


def follow_names(row: Any, names: Sequence[str]) -> Any:
    """Follow names through objects and mappings, and return the value. None if a value on the path is missing."""
    for name in names:
        if row is None:
            return None
        row = row.get(name) if isinstance(row, Mapping) else getattr(row, name)
    return row


# -- which format ----------------------------------------------------------------------------------


DESCRIPTION = "Format of the answer; if omitted, `Accept` decides."


async def _read_format(
    request: Request, format: Annotated[Format | None, Query(description=DESCRIPTION, examples=["csv"])] = None
) -> Format:
    return format or choose_format(_accepted(request), get_args(Format))


async def _read_paper_format(
    request: Request, format: Annotated[PaperFormat | None, Query(description=DESCRIPTION, examples=["latex"])] = None
) -> PaperFormat:
    return format or choose_format(_accepted(request), get_args(PaperFormat))


WantedFormat = Annotated[Format, Depends(_read_format)]
WantedPaperFormat = Annotated[PaperFormat, Depends(_read_paper_format)]
"""Format of an answer that also comes in LaTeX and Markdown."""


def _accepted(request: Request) -> str:
    return ",".join(request.headers.getlist("accept"))


def choose_format(accept: str, formats: Sequence[F]) -> F:
    """Choose the format that an ``Accept`` header prefers (RFC 9110, section 12.5.1). Of formats with equal weight, a
    format that the header names goes first, then the first of ``formats``.

    Raises:
        NotAcceptable: the header allows none of the formats.
    """
    weights = dict(map(_range, accept.lower().split(",")))

    def rate_type(media_type: str) -> tuple[float, int]:
        ranges = (media_type, f"{media_type.partition('/')[0]}/*", "*/*")
        return next(((weights[one], -k) for k, one in enumerate(ranges) if one in weights), (0.0, 0))

    if not accept.strip():
        return formats[0]
    best = max(formats, key=lambda format: rate_type(MEDIA_TYPES[format]))
    if rate_type(MEDIA_TYPES[best])[0] > 0:
        return best
    known = ", ".join(f"{MEDIA_TYPES[format]} (format={format})" for format in formats)
    raise NotAcceptable(f"Accept: {quote_value(accept)} allows no format of this address; it has {known}")


def _range(text: str) -> tuple[str, float]:
    """Read a media range and its weight. A weight that is not a number counts as 0."""
    media_range, *parameters = (part.strip() for part in text.split(";"))
    given = next((value for name, _, value in (p.partition("=") for p in parameters) if name.strip() == "q"), "1")
    try:
        return media_range, float(given)
    except ValueError:
        return media_range, 0.0


# -- answers ---------------------------------------------------------------------------------------


def json_answer(content: bytes | str) -> Response:
    """Answer in JSON, at an address that has other formats, too."""
    return Response(content, media_type=JSON, headers=BY_ACCEPT)


def file_answer(name: str, format: FileFormat, content: bytes | str, next_page: str | None = None) -> Response:
    """Answer with a file that the client saves.

    Args:
        next_page: address of the rows that follow; None on the last page.
    """
    link = {"Link": f'<{next_page}>; rel="next"'} if next_page is not None else {}
    named = {"Content-Disposition": f'attachment; filename="{UNUSUAL.sub("-", name)}.{SUFFIXES[format]}"'}
    return Response(content, media_type=MEDIA_TYPES[format], headers={**named, **link, **BY_ACCEPT})


def as_file(
    table: ExportTable, format: FileFormat, next_page: str | None = None, *, address: URL | None = None
) -> Response:
    """Answer with a table, as a file that the client saves.

    Args:
        address: address of the answer, which a table for a paper tells.
    """
    if format == "csv" or format == "parquet":
        return file_answer(table.name, format, encode_table(table, format), next_page)
    from service.paper import latex, markdown  # here, because processes that make no file need not have it in memory

    write = latex.write_latex if format == "latex" else markdown.write_markdown
    assert table.paper is not None, "only routes with WantedPaperFormat get here"
    return file_answer(table.name, format, write(table.paper(), str(address or "")))


def encode_table(table: ExportTable, format: DataFormat) -> bytes:
    """Write a table as bytes. The same rows always give the same bytes."""
    import pyarrow  # here, because processes that make no file need not have it in memory
    import pyarrow.csv
    import pyarrow.parquet

    arrays = [_array(column, table.rows, format) for column in table.columns]
    content = pyarrow.Table.from_arrays(arrays, names=[column.name for column in table.columns])
    target = BytesIO()
    if format == "csv":
        pyarrow.csv.write_csv(content, target)
    else:
        pyarrow.parquet.write_table(content, target)
    return target.getvalue()


def _array(column: ExportColumn, rows: Sequence[Any], format: DataFormat) -> "Array":
    import pyarrow

    cells = column.cells(rows)
    if column.kind == "json":
        cells = [None if cell is None else to_json(cell).decode() for cell in cells]
    if column.kind == "moment" and format == "csv":  # as JSON has it
        return pyarrow.array(map(to_jsonable_python, cells), pyarrow.string())
    return pyarrow.array(cells, _type(column.kind))


def _type(kind: Kind) -> "DataType":
    import pyarrow

    return {
        "text": pyarrow.string(),
        "json": pyarrow.string(),
        "integer": pyarrow.int64(),
        "number": pyarrow.float64(),
        "truth": pyarrow.bool_(),
        "moment": pyarrow.timestamp("us", tz="UTC"),
    }[kind]


def also_as_file(responses: Responses, row: str, example: str, *, paper: bool = False) -> Responses:
    """Describe a route whose answer may be a file, too.

    Args:
        row: description of a row.
        example: beginning of a CSV file.
        paper: whether the route has LaTeX and Markdown, too.
    """
    said = f"{row} Columns are named as the JSON's fields, as `value.mean`; an empty cell is null."
    ok = responses[200]
    more = {
        CSV: {"schema": {"type": "string", "description": said}, "example": example},
        PARQUET: {"schema": {"type": "string", "format": "binary", "description": said}},
    }
    if paper:
        more |= ON_PAPER
    of_file = headers("Content-Disposition", "Link", required=False)
    described = {"content": {**ok["content"], **more}, "headers": {**ok.get("headers", {}), **of_file}}
    return {**responses, 200: {**ok, **described}, **refusals(NotAcceptable)}
