"""Answers as files: CSV and Parquet, tables for papers, printed figures."""

from collections.abc import Iterator, Mapping, Sequence
from io import BytesIO
from typing import Any, Literal

from normbench.connection import Connection
from normbench.errors import Missing

FileFormat = Literal["csv", "parquet", "latex", "markdown"]
FigureFormat = Literal["pdf", "svg", "png"]
MEDIA_TYPES: Mapping[FileFormat, str] = {
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
    "latex": "application/x-tex",
    "markdown": "text/markdown",
}


def file_of(service: Connection, path: str, format: FileFormat, params: Mapping[str, Any]) -> bytes:
    """Content of a file with the rows of all pages at ``path``."""
    pages = list(_pages(service, path, format, params))
    if len(pages) == 1:
        return pages[0]
    return _join_csv(pages) if format == "csv" else _join_parquet(pages)


def content_at(service: Connection, address: str, params: Mapping[str, Any] | None = None) -> bytes:
    """Content of a file or a page at an address."""

    def once() -> bytes:
        with service.stream(address, params=params) as answer:
            return answer.read()

    return service.patiently(once)


def _pages(service: Connection, path: str, format: FileFormat, params: Mapping[str, Any]) -> Iterator[bytes]:
    wanted: dict[str, Any] = dict(params)
    while True:
        content, cursor = service.patiently(lambda: _page(service, path, format, wanted))
        yield content
        if cursor is None:
            return
        wanted["cursor"] = cursor


def _page(service: Connection, path: str, format: FileFormat, params: Mapping[str, Any]) -> tuple[bytes, str | None]:
    """Content of one page, and the cursor of the next page; None for the last page."""
    headers = {"Accept": MEDIA_TYPES[format]}
    with service.stream(path, params=params, headers=headers) as answer:
        content = answer.read()
        following = answer.links.get("next", {}).get("url")
        return content, None if following is None else answer.url.join(following).params["cursor"]


def _join_csv(pages: Sequence[bytes]) -> bytes:
    """Join CSV pages under the header of the first page. No column name holds a line break."""
    return b"".join([pages[0], *(page.partition(b"\n")[2] for page in pages[1:])])


def _join_parquet(pages: Sequence[bytes]) -> bytes:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise Missing("joining pages of Parquet needs pyarrow; get it with: pip install pyarrow") from None
    joined = pyarrow.concat_tables([pyarrow.parquet.read_table(BytesIO(page)) for page in pages])
    target = BytesIO()
    pyarrow.parquet.write_table(joined, target)
    return target.getvalue()
