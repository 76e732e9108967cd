"""Rows as files: CSV and Parquet, beside JSON.

A room declares the columns of its tables. The name of a column is the path of its value in the JSON, as ``value.mean``,
and does not change. Texts that users write freely, such as labels, stand in JSON cells. They begin with a bracket, so
no spreadsheet takes them for a formula, and every character survives.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import Depends, Query, Request, Response
from pydantic_core import to_json, to_jsonable_python

from service.http.openapi import JSON, Responses, headers

if TYPE_CHECKING:
    from pyarrow import Array, DataType

Kind = Literal["text", "integer", "number", "truth", "moment", "json"]
FileFormat = Literal["csv", "parquet"]
Format = Literal["json", "csv", "parquet"]
CSV, PARQUET = "text/csv", "application/vnd.apache.parquet"
MEDIA_TYPES: Mapping[Format, str] = {"json": JSON, "csv": CSV, "parquet": PARQUET}  # the first of equals is preferred
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
    """

    name: str
    columns: Sequence[ExportColumn]
    rows: Sequence[Any]


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


async def _read_format(
    request: Request,
    format: Annotated[
        Format | None, Query(description="Format of the answer; if omitted, `Accept` decides.", examples=["csv"])
    ] = None,
) -> Format:
    return format or choose_format(",".join(request.headers.getlist("accept")))


WantedFormat = Annotated[Format, Depends(_read_format)]


def choose_format(accept: str) -> Format:
    """Choose the format that an ``Accept`` header prefers (RFC 9110, section 12.5.1). Of formats with equal weight, a
    format that the header names goes first, then JSON. A header that allows no format is ignored, as this section
    permits.
    """
    weights = dict(map(_range, accept.lower().split(",")))

    def rate_type(media_type: str) -> tuple[float, int]:
        ranges = (media_type, f"{media_type.partition('/')[0]}/*", "*/*")
        return next(((weights[one], -k) for k, one in enumerate(ranges) if one in weights), (0.0, 0))

    best = max(MEDIA_TYPES, key=lambda format: rate_type(MEDIA_TYPES[format]))
    return best if rate_type(MEDIA_TYPES[best])[0] > 0 else "json"


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


def file_answer(name: str, format: FileFormat, content: bytes, next_page: str | None = None) -> Response:
    """Answer with a file that the client saves.

    Args:
        next_page: address of the rows that follow; None on the last page.
    """
    link = {"Link": f'<{next_page}>; rel="next"'} if next_page is not None else {}
    named = {"Content-Disposition": f'attachment; filename="{UNUSUAL.sub("-", name)}.{format}"'}
    return Response(content, media_type=MEDIA_TYPES[format], headers={**named, **link, **BY_ACCEPT})


def as_file(table: ExportTable, format: FileFormat, next_page: str | None = None) -> Response:
    """Answer with a table, as a file that the client saves."""
    return file_answer(table.name, format, encode_table(table, format), next_page)


def encode_table(table: ExportTable, format: FileFormat) -> bytes:
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


def _array(column: ExportColumn, rows: Sequence[Any], format: FileFormat) -> "Array":
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


def also_as_file(responses: Responses, row: str, example: str) -> Responses:
    """Describe a route whose answer may be a file, too.

    Args:
        row: description of a row.
        example: beginning of a CSV file.
    """
    said = f"{row} Columns are named as the JSON's fields, as `value.mean`; an empty cell is null."
    ok = responses[200]
    more = {
        CSV: {"schema": {"type": "string", "description": said}, "example": example},
        PARQUET: {"schema": {"type": "string", "format": "binary", "description": said}},
    }
    of_file = headers("Content-Disposition", "Link", required=False)
    described = {"content": {**ok["content"], **more}, "headers": {**ok.get("headers", {}), **of_file}}
    return {**responses, 200: {**ok, **described}}
