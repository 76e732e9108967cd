"""Tables for papers that a test asks for and reads."""

from typing import Any

import pytest
from starlette.testclient import TestClient

SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
"""For tests of answers whose numbers the tests of JSON compare in every database."""


def on_paper(client: TestClient, path: str, format: str = "markdown", **query: Any) -> str:
    """Text of an answer, with spaces that do not break as usual spaces."""
    answer = client.get(path, params={"format": format, **query})
    assert answer.status_code == 200, answer.text
    return answer.text.replace("\u00a0", " ")


def rows_of(text: str) -> list[list[str]]:
    """Cells of all Markdown tables of a text, each head before its rows."""
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in text.splitlines()
        if line.startswith("|") and not line.startswith("| :")
    ]
