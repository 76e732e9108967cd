"""A page of the service works from a disk: links, controls, scripts, styles and figures."""

import pytest

from normbench.publishing.sitemap import PublishedPage, links
from normbench.publishing.static_page import Files, IndexList, StaticPage

BOARD = PublishedPage(
    section="boards",
    title="digits, smoke",
    address="/boards/digits?profile=smoke",
    file="boards/digits-smoke",
    data="/v1/leaderboards/digits?profile=smoke",
    same=("/boards/digits?profile=smoke&problem=a1",),
)
INDEX = PublishedPage("overall", "All boards", "/boards?profile=small", "index", "/v1/leaderboards/overall", ("/",))
DATA = {"json": "boards/digits-smoke.json", "csv": "boards/digits-smoke.csv", "latex": "boards/digits-smoke.tex"}


def static(body: str, page: PublishedPage = BOARD, figure: str | None = None, index: tuple[IndexList, ...] = ()) -> str:
    """Content of the body of a static page."""
    files = Files(
        links([INDEX, BOARD]), lambda address: "static/a.css", lambda address: figure, {"/v1/f": "figures/f.svg"}.get
    )
    html = f"<!doctype html><html><head></head><body>{body}</body></html>"
    made = StaticPage(page, DATA, "Published today", index).render(html, files)
    return made.partition("<body>")[2].partition("</body>")[0]


@pytest.mark.parametrize(
    ("href", "target"),
    [
        ("/", "../index.html"),
        ("/boards", "../index.html"),
        ("/boards?profile=small", "../index.html"),
        ("/boards/digits?profile=smoke", "digits-smoke.html"),
        ("/boards/digits?problem=a1&profile=smoke&rank_by=metric#all", "digits-smoke.html"),
        ("#here", "#here"),
        ("https://arxiv.org/abs/1607.06450", "https://arxiv.org/abs/1607.06450"),
        ("/v1/leaderboards/digits?profile=smoke&entries=best", "digits-smoke.json"),
        ("/v1/leaderboards/digits?profile=smoke&format=csv", "digits-smoke.csv"),
    ],
)
def test_a_link_to_what_is_published_is_relative(href: str, target: str) -> None:
    shown = static(f'<p id="here"><a class="target" href="{href}">x</a></p>')
    assert shown == f'<p id="here"><a class="target" href="{target}">x</a></p>'


@pytest.mark.parametrize(
    "href",
    [
        "/experiments?fingerprint=ab",
        "/boards/digits?profile=smoke&amp;rank_by=seconds_to_target",
        "/boards/digits",
        "javascript:alert(1)",
        "//elsewhere/boards",
        "#left-out",
    ],
)
def test_a_link_to_anything_else_on_the_service_is_text(href: str) -> None:
    assert (
        static(f'<p><a href="{href}">5 <b>runs</b></a></p>') == '<p><span class="unpublished">5 <b>runs</b></span></p>'
    )


def test_menus_and_buttons_lose_links_that_lead_nowhere() -> None:
    menu = '<nav class="site-menu" popover><a href="/">Boards</a><a href="/workers">Workers</a></nav>'
    assert static(menu) == '<nav class="site-menu" popover><a href="../index.html">Boards</a></nav>'
    assert static('a<p class="actions"><a class="button" href="/submit">Submit</a></p>') == "a"
    assert static('<p><a href="/v1/leaderboards/digits?format=parquet">Parquet</a> <b>b</b></p>') == "<p> <b>b</b></p>"


def test_scripts_forms_and_controls_go_and_tables_in_forms_stay() -> None:
    form = (
        '<form class="card" method="post" action="/compare" data-apply><table><tr>'
        '<td><label><input type="checkbox">Compare</label></td><td data-label="Rank">1</td></tr></table>'
        "<select><option>a</option></select><button>Compare</button></form>"
    )
    assert static(form) == ('<div class="card"><table><tr><td></td><td data-label="Rank">1</td></tr></table></div>')
    assert static('a<script src="/x.js"></script><noscript>b</noscript><fieldset>c</fieldset>') == "a"
    assert static('a<form class="controls"><fieldset>c</fieldset></form>') == "a"
    assert static('a<div class="command"><pre>curl http://10.0.0.1/v1</pre></div><p data-live>b</p>') == "a"
    assert static('<button popovertarget="m">Menu</button>') == '<button popovertarget="m">Menu</button>'


def test_a_figure_is_a_picture_or_its_table_is_open() -> None:
    page = (
        '<div><div data-figure="/v1/f" aria-label="Curves" class="figure"><p>drawn</p></div><details>t</details></div>'
    )
    assert static(page) == "<div><details open>t</details></div>"
    picture = '<img class="printed" src="../figures/f.svg" alt="Curves">'
    assert static(page, figure="figures/f.svg") == f"<div>{picture}<details>t</details></div>"


def test_links_to_files_of_figures_and_tables_lead_to_what_is_in_the_folder() -> None:
    latex = '<a href="/v1/leaderboards/digits?profile=smoke&amp;format=latex" data-save="x" download>L</a>'
    table = f'<p class="links files">Table: {latex}</p>'
    assert static(table) == '<p class="links files">Table: <a href="digits-smoke.tex" download>L</a></p>'
    svg = '<a href="/v1/f?format=svg" download>S</a>'
    assert static(f'<p class="links files">Figure: {svg}<a href="/v1/f?format=pdf">P</a></p>') == (
        '<p class="links files">Figure: <a href="../figures/f.svg" download>S</a></p>'
    )
    assert static('a<p class="links files">Figure: <a href="/v1/g?format=svg">S</a></p>') == "a"


def test_each_page_has_the_date_the_version_and_its_numbers_in_all_formats() -> None:
    assert (
        static("<footer><a href='/docs'>API</a></footer>") == '<footer><div class="wide">Published today</div></footer>'
    )
    formats = static('<p class="links"><a href="/v1/leaderboards/digits?profile=smoke">JSON</a></p>')
    assert formats == (
        '<p class="links"><a href="digits-smoke.json">JSON</a><a href="digits-smoke.csv">CSV</a>'
        '<a href="digits-smoke.tex">LaTeX</a></p>'
    )


def test_text_of_users_stays_text() -> None:
    hostile = '<p title="&quot;&gt;&lt;script&gt;">&lt;script&gt;alert(1)&lt;/script&gt;</p>'
    assert static(hostile) == hostile
    listed = IndexList("boards", "Boards", {"boards/a.html": "<script>"})
    shown = static("<main>m</main>", INDEX, index=(listed,))
    assert shown == (
        '<main>m<section class="card" id="boards"><h2>Boards</h2><ul class="published">'
        '<li><a class="target" href="boards/a.html">&lt;script&gt;</a></li></ul></section></main>'
    )
