"""HTML is read into a tree, and written again with the same meaning."""

import pytest

from normbench.publishing.elements import parse


@pytest.mark.parametrize(
    "html",
    [
        '<p class="a">1 &lt; 2 &amp; 3</p>',
        '<a href="/x?a=1&amp;b=2" title="&quot;q&quot;">x</a>',
        "<ul><li>a</li><li>b<br>c</li></ul>",
        '<svg viewbox="0 0 1 1"><path d="M0 0"/><rect width="1"/></svg>',
        "<details open><summary>s</summary>t</details>",
        "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>",
    ],
)
def test_a_document_is_written_as_it_was_read(html: str) -> None:
    assert str(parse(f"<!doctype html>\n{html}")) == f"<!doctype html>\n{html}"


def test_an_element_that_is_left_open_ends_with_its_parent() -> None:
    assert str(parse("<div><p>a<b>b</div><p>c")) == "<!doctype html>\n<div><p>a<b>b</b></p></div><p>c</p>"
    assert str(parse("a</p>b")) == "<!doctype html>\nab"


def test_elements_are_walked_in_the_order_of_the_text() -> None:
    root = parse("<div id=1><p id=2>a</p><p id=3>b<i id=4>c</i></p></div>")
    assert [element.get("id") for element in root.walk()] == ["", "1", "2", "3", "4"]
    assert root.text() == "abc"
