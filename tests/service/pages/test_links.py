"""Links of pages at real size: within a list or a table, links of one name lead to one place."""

import shutil
from collections.abc import Iterator
from html.parser import HTMLParser

import pytest
from starlette.testclient import TestClient

from service.app import create_app
from service.db import Database
from service.leaderboards import queries
from service.leaderboards.queries import BoardRequest
from tests.service.pages.conftest import Demo, settings_in

GROUPS = ("table", "ul", "ol", "dl")


class Links(HTMLParser):
    """Reader of a page's links: for each list or table, the targets by the links' names."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.groups: list[dict[str, set[str]]] = []
        self._open: list[dict[str, set[str]]] = []
        self._target: str | None = None
        self._label: str | None = None
        self._title: str | None = None
        self._text: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in GROUPS:
            self._open.append({})
            self.groups.append(self._open[-1])
        elif tag == "a" and self._open and given.get("href"):
            self._target, self._label, self._text = given["href"], given.get("aria-label"), []
            self._title = given.get("title")

    def handle_data(self, data: str) -> None:
        self._text.append(data)

    def handle_endtag(self, tag: str) -> None:
        if tag in GROUPS and self._open:
            self._open.pop()
        elif tag == "a" and self._target is not None:
            name = self._label or " ".join("".join(self._text).split()) or self._title or ""
            for group in self._open:
                group.setdefault(name, set()).add(self._target)
            self._target = None


def ambiguous(page: str) -> list[tuple[str, list[str]]]:
    """Names of links that lead to several places, with some of the places."""
    found = Links(page).groups
    return [(name, sorted(to)[:3]) for group in found for name, to in group.items() if len(to) > 1]


@pytest.fixture(scope="module")
def pages(month: Demo, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    folder = tmp_path_factory.mktemp("links")
    settings = settings_in(folder).model_copy(update={"allowed_hosts": "testserver"})
    shutil.copy(month.path, folder / "normbench.db")
    with TestClient(create_app(settings, require_keys=False)) as client:
        yield client


def test_the_reader_finds_links_of_one_name_and_several_targets() -> None:
    table = '<table><tr><td><a href="/a">5 runs</a><td><a href="/b" aria-label="{}">5 <b>runs</b></a></table>'
    assert ambiguous(table.format("5 runs")) == [("5 runs", ["/a", "/b"])]
    assert ambiguous(table.format("5 runs of b")) == []
    assert ambiguous('<a href="/a">x</a><a href="/b">x</a>') == []


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/?profile=paper",
        "/boards",
        "/boards/permuted_digits",
        "/boards/permuted_digits?entries=all",
        "/boards/permuted_digits?entries=all&page=2",
        "/boards/permuted_mnist?profile=paper&published=list",
        "/experiments",
        "/experiments?order=method",
        "/experiments?order=-task",
        "/experiments?state=failed",
        "/experiments/{failed}",
        "/experiments/{running}",
        "/experiments/{many seeds}",
        "/sweeps",
        "/sweeps/{sweep}",
        "/sweeps/{sweep under way}",
        "/methods",
        "/methods/layer_norm",
        "/tasks",
        "/tasks/permuted_mnist",
        "/workers",
    ],
)
def test_links_of_one_name_in_a_list_or_table_lead_to_one_place(pages: TestClient, month: Demo, path: str) -> None:
    for name, id in month.found.items():
        path = path.replace(f"{{{name}}}", id)
    answer = pages.get(path)
    assert answer.status_code == 200
    assert ambiguous(answer.text) == []


def test_links_of_a_comparison_of_eight_entries_lead_to_one_place_each(pages: TestClient, month: Demo) -> None:
    db = Database(f"sqlite:///{month.path}")
    with db.snapshot() as session:
        board = queries.leaderboard(session, BoardRequest("permuted_digits", "small"))
    db.close()
    chosen = [entry.fingerprint for entry in board.entries[:8] if entry.fingerprint]
    answer = pages.get("/compare", params={"fingerprint": chosen})
    assert answer.status_code == 200
    assert ambiguous(answer.text) == []
