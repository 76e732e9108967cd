"""Tables for papers in Markdown: texts stay texts."""

import pytest

from service.paper.markdown import escape_markdown, write_markdown
from service.paper.table import PaperCell, PaperColumn, PaperTable, RowGroup, cells

COLUMNS = [PaperColumn("Method", "left"), PaperColumn("Test accuracy (%)")]


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("layer_norm", "layer_norm"),
        ("_a_ b_", r"\_a\_ b\_"),
        ("a|b", r"a\|b"),
        ("**x** `y` ~~z~~", r"\*\*x\*\* \`y\` \~\~z\~\~"),
        ("<script>&lt;", r"\<script\>\&lt;"),
        ("[x](y) $z$ #1", r"\[x\](y) \$z\$ \#1"),
        ("a\\|b", r"a\\\|b"),
        ("a\r\nb\u2028c", "a  b c"),
        ("é 模型 ×3.20", "é 模型 ×3.20"),
    ],
)
def test_texts_are_escaped(text: str, written: str) -> None:
    assert escape_markdown(text) == written


def test_a_table_stands_below_its_caption() -> None:
    group = RowGroup([[PaperCell("layer_norm"), PaperCell("95.38", strong=True)]])
    claims = RowGroup([cells("none", "90.00")], "Claimed")
    written = write_markdown([PaperTable("a", "Results: 5%.", COLUMNS, [group, claims], "None.")], "http://here/?a=<b>")
    assert (
        written
        == """Results: 5%.

| Method | Test accuracy (%) |
| :--- | ---: |
| layer_norm | **95.38** |
| *Claimed* |  |
| none | 90.00 |

Source: <http://here/?a=b>
"""
    )


def test_a_table_without_rows_says_so() -> None:
    assert "| No entries yet. |  |" in write_markdown([PaperTable("a", "x", COLUMNS, [], "No entries yet.")], "")
