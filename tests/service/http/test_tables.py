"""Rows as files: which format a client gets, and that nothing is lost on the way."""

import csv
import io
import math
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pyarrow.parquet
import pytest
from starlette.testclient import TestClient

from service.db import Database
from service.http.tables import (
    CSV,
    PARQUET,
    DataFormat,
    ExportColumn,
    ExportTable,
    Format,
    choose_format,
    encode_table,
    file_answer,
    interval,
)
from tests.service.http_calls import is_problem
from tests.service.sample_runs import submitted

SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
LIST = "/v1/experiments"
WEBP = "text/html,application/xhtml+xml,application/xml;q=0.9,image/webp,*/*;q=0.8"  # as browsers ask


@dataclass
class Row:
    """Row with a field of each kind."""

    name: str | None = None
    size: int | None = None
    value: float | None = None
    sure: bool | None = None
    at: datetime | None = None
    labels: dict[str, Any] | None = None
    ci95: tuple[float, float] | None = None
    inner: "Row | None" = None


COLUMNS = (
    ExportColumn("name", "text"),
    ExportColumn("size", "integer"),
    ExportColumn("value", "number"),
    ExportColumn("sure", "truth"),
    ExportColumn("at", "moment"),
    ExportColumn("labels", "json"),
    *interval("ci95"),
    ExportColumn("inner.value", "number"),
    *interval("inner.ci95"),
    ExportColumn("labels.team", "text"),
    ExportColumn("twice", "number", lambda row: row.value and 2 * row.value),
)
MOMENT = datetime(2026, 11, 25, 12, 30, 0, 250_000, UTC)
FULL = Row("a", 2**53 + 1, 0.1 + 0.2, True, MOMENT, {"team": "x"}, (0.1, 1 / 3), Row(value=-0.0, ci95=(1e-320, 1e300)))
HOSTILE = ['=HYPERLINK("http://x","y")', "+1", "@a", 'a "b", c\r\nd;\te', "", "  ", "é 😀 \u202e", "NULL", "1", "<b>"]


def csv_of(table: ExportTable) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(encode_table(table, "csv").decode(), newline="")))


def parquet_of(table: ExportTable) -> Any:
    return pyarrow.parquet.read_table(io.BytesIO(encode_table(table, "parquet")))


def test_a_csv_has_every_value_to_the_last_bit() -> None:
    [row] = csv_of(ExportTable("t", COLUMNS, [FULL]))
    assert list(row) == [column.name for column in COLUMNS]
    assert (row["name"], int(row["size"]), row["sure"]) == ("a", 2**53 + 1, "true")
    assert (float(row["value"]), float(row["ci95.high"])) == (0.1 + 0.2, 1 / 3)
    assert math.copysign(1, float(row["inner.value"])) == -1
    assert (float(row["inner.ci95.low"]), float(row["inner.ci95.high"])) == (1e-320, 1e300)
    assert (row["at"], row["labels"]) == ("2026-11-25T12:30:00.250000Z", '{"team":"x"}')
    assert (row["labels.team"], float(row["twice"])) == ("x", 2 * (0.1 + 0.2))


def test_an_unknown_value_is_an_empty_cell_and_differs_from_empty_text() -> None:
    text = encode_table(ExportTable("t", COLUMNS[:3], [Row(), Row(name="")]), "csv").decode()
    assert text == '"name","size","value"\n,,\n"",,\n'
    assert parquet_of(ExportTable("t", COLUMNS, [Row()])).to_pylist() == [{column.name: None for column in COLUMNS}]


def test_parquet_has_types_and_the_values_themselves() -> None:
    found = parquet_of(ExportTable("t", COLUMNS, [FULL]))
    types = dict(zip(found.schema.names, map(str, found.schema.types), strict=True))
    assert types == {
        "name": "string",
        "size": "int64",
        "value": "double",
        "sure": "bool",
        "at": "timestamp[us, tz=UTC]",
        "labels": "string",
        "ci95.low": "double",
        "ci95.high": "double",
        "inner.value": "double",
        "inner.ci95.low": "double",
        "inner.ci95.high": "double",
        "labels.team": "string",
        "twice": "double",
    }
    [row] = found.to_pylist()
    assert (row["name"], row["size"], row["value"], row["at"]) == ("a", 2**53 + 1, 0.1 + 0.2, MOMENT)
    assert (row["ci95.low"], row["inner.ci95.low"]) == (0.1, 1e-320)


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_a_file_without_rows_has_its_columns_and_types(format: DataFormat) -> None:
    table = ExportTable("t", COLUMNS, [])
    if format == "csv":
        assert encode_table(table, format).decode() == ",".join(f'"{column.name}"' for column in COLUMNS) + "\n"
    else:
        assert parquet_of(table).schema == parquet_of(ExportTable("t", COLUMNS, [FULL])).schema


def test_hostile_text_survives_in_csv_and_parquet() -> None:
    columns = (ExportColumn("name", "text"), ExportColumn("labels", "json"))
    table = ExportTable("t", columns, [Row(name=text, labels={"team": text}) for text in HOSTILE])
    assert [row["name"] for row in csv_of(table)] == HOSTILE
    assert parquet_of(table).column("name").to_pylist() == HOSTILE
    assert all(row["labels"].startswith('{"team":"') for row in csv_of(table)), "which no spreadsheet computes"


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_the_same_rows_make_the_same_bytes(format: DataFormat) -> None:
    assert encode_table(ExportTable("t", COLUMNS, [FULL]), format) == encode_table(
        ExportTable("t", COLUMNS, [FULL]), format
    )


@pytest.mark.parametrize(
    ("accept", "format"),
    [
        ("", "json"),
        ("*/*", "json"),
        (WEBP, "json"),
        ("text/csv", "csv"),
        ("TEXT/CSV; charset=utf-8", "csv"),
        ("text/csv, */*", "csv"),
        ("text/csv;q=0.5, */*;q=0.1", "csv"),
        ("text/csv;q=0.5, application/json", "json"),
        ("text/*", "csv"),
        ("application/*", "json"),
        ("application/vnd.apache.parquet", "parquet"),
        ("application/vnd.apache.parquet, text/csv;q=0.9", "parquet"),
        ("application/json;q=0, */*", "csv"),
        ("text/csv;header=present;q=1.0", "csv"),
    ],
)
def test_a_client_gets_what_it_prefers(accept: str, format: Format) -> None:
    assert choose_format(accept, ("json", "csv", "parquet")) == format


def test_a_files_name_has_nothing_unusual() -> None:
    answer = file_answer('a"; b\r\n/../c', "csv", b"")
    assert answer.headers["content-disposition"] == 'attachment; filename="a-b-..-c.csv"'


@SQLITE
@pytest.mark.parametrize(("format", "media_type"), [("csv", "text/csv; charset=utf-8"), ("parquet", PARQUET)])
def test_a_file_is_named_tagged_and_kept_apart_from_json(client: TestClient, format: str, media_type: str) -> None:
    answer = client.get(LIST, params={"format": format})
    assert answer.headers["content-type"] == media_type
    assert answer.headers["content-disposition"] == f'attachment; filename="experiments.{format}"'
    assert answer.headers["vary"] == "Accept, Accept-Encoding"
    accepted = client.get(LIST, headers={"Accept": media_type})
    assert (accepted.content, accepted.headers["etag"]) == (answer.content, answer.headers["etag"])
    known = {"Accept": media_type, "If-None-Match": answer.headers["etag"]}
    assert client.get(LIST, headers=known).status_code == 304
    assert client.get(LIST, headers={"If-None-Match": answer.headers["etag"]}).json()["items"] == []
    assert client.get(LIST, params={"format": "json"}, headers=known).headers["content-type"] == "application/json"
    assert client.head(LIST, params={"format": format}).headers["etag"] == answer.headers["etag"]


@SQLITE
def test_csv_is_compressed_by_http_and_parquet_within_the_file(client: TestClient, db: Database) -> None:
    for _ in range(3):
        submitted(db)
    zipped = {"Accept-Encoding": "gzip"}
    assert client.get(LIST, headers={**zipped, "Accept": CSV}).headers["content-encoding"] == "gzip"
    assert "content-encoding" not in client.get(LIST, headers={**zipped, "Accept": PARQUET}).headers


@SQLITE
def test_an_unknown_format_is_refused(client: TestClient) -> None:
    answer = client.get(LIST, params={"format": "xlsx"})
    assert is_problem(answer, 422)
    assert [error["loc"] for error in answer.json()["errors"]] == [["format"]]
    assert is_problem(client.get("/v1/tasks", params={"format": "csv"}), 422)
