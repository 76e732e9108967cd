"""Tables for papers in LaTeX: no text breaks a document."""

import re

import pytest

from service.paper.latex import LONG, escape_latex, write_latex
from service.paper.table import PaperCell, PaperColumn, PaperTable, RowGroup, cells

COLUMNS = [PaperColumn("Method", "left"), PaperColumn("Test accuracy (%)")]


def table(*groups: RowGroup, caption: str = "Results.", label: str = "permuted_digits-small") -> PaperTable:
    return PaperTable(label, caption, COLUMNS, groups, "No entries yet.")


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("rms_norm & 50% of #1 at $2 {x}", r"rms\_norm \& 50\% of \#1 at \$2 \{x\}"),
        ("a\\b~c^d", r"a\textbackslash{}b\textasciitilde{}c\textasciicircum{}d"),
        ("1 < 2 > 0 | x", "1 $<$ 2 $>$ 0 $|$ x"),
        ('say "hi" `now`', r"say ''hi'' \`{}now\`{}"),
        ("95.15 – 95.63", "95.15 -- 95.63"),
        ("−0.12", "$-$0.12"),
        ("×3.20", r"$\times$3.20"),
        ("11\u202f000\u00a0s", r"11\,000~s"),
        ("Gülçehre, Hałas, Łódź, naïve", r"G\"{u}l\c{c}ehre, Ha\l{}as, \L{}\'{o}d\'{z}, na\"{\i}ve"),
        ("α = Λ², H₂O", r"$\alpha$ = $\Lambda$$^{2}$, H$_{2}$O"),
        ("Москва 模型", "Moskva MoXing"),
        ("ą, đ", "a, d"),
        ("a\nb\tc\x00d\u2028e", "a b c d e"),
        ("\u202e", " "),
        ("\ud800", " "),
        ("😀", ":grinning:"),
        ("\U000e0041", " "),
    ],
)
def test_any_text_becomes_latex_that_needs_no_package(text: str, written: str) -> None:
    assert escape_latex(text) == written


def test_every_character_becomes_ascii_with_balanced_groups() -> None:
    for code in (*range(0x3000), *range(0x3000, 0x30000, 97)):
        written = escape_latex(chr(code))
        assert written.isascii(), f"U+{code:04X}"
        bare = re.sub(r"\\[{}]", "", written)
        assert bare.count("{") == bare.count("}"), f"U+{code:04X}"
        assert len(re.findall(r"(?<!\\)\$", written)) % 2 == 0, f"U+{code:04X}"
        assert not re.search(r"(?<!\\)[#%&]", written), f"U+{code:04X}"


def test_a_table_has_rules_of_booktabs_its_best_in_bold_and_space_between_groups() -> None:
    best = RowGroup([[PaperCell("layer_norm"), PaperCell("95.38", strong=True)]])
    written = write_latex([table(best, RowGroup([cells("none", "90.00")]))], "http://here/v1/x?y=1&format=latex")
    assert (
        written
        == r"""% http://here/v1/x?y=1&format=latex
% In the preamble: \usepackage{booktabs}
\begin{table}[tb]
\centering\small\setlength{\tabcolsep}{4pt}
\caption{Results.}
\label{tab:permuted-digits-small}
\par\smallskip
\begin{tabular}{@{}lr@{}}
\toprule
Method & Test accuracy (\%) \\
\midrule
layer\_norm & \textbf{95.38} \\
\addlinespace
none & 90.00 \\
\bottomrule
\end{tabular}
\end{table}
"""
    )


def test_a_group_has_its_title_in_a_row_of_its_own() -> None:
    written = write_latex([table(RowGroup([cells("a", "1")]), RowGroup([cells("b", "2")], "Claimed: A & B"))], "")
    assert "\\midrule\n\\multicolumn{2}{@{}l@{}}{\\emph{Claimed: A \\& B}} \\\\\nb & 2 \\\\" in written


def test_a_table_without_rows_says_so() -> None:
    written = write_latex([table(RowGroup([]))], "")
    assert "\\midrule\n\\multicolumn{2}{@{}l@{}}{No entries yet.} \\\\\n\\bottomrule" in written


def test_a_wide_table_spans_both_columns_of_a_page() -> None:
    narrow, wide = (write_latex([table(RowGroup([cells("m" * n, "1")]))], "") for n in (25, 26))
    assert "\\begin{table}[tb]" in narrow
    assert "\\begin{table*}[tb]" in wide
    assert wide.endswith("\\end{table*}\n")


def test_a_long_table_breaks_over_pages() -> None:
    rows = [cells(f"m{k}", str(k)) for k in range(LONG + 1)]
    short, long = (write_latex([table(RowGroup(rows[:n]))], "") for n in (LONG, LONG + 1))
    assert "longtable" not in short
    assert "\\usepackage{booktabs}\\usepackage{longtable}" in long
    assert "\\begin{longtable}{@{}lr@{}}\n\\caption{Results.} \\label{tab:permuted-digits-small} \\\\\n" in long
    assert "\\begin{table}" not in long
    assert long.count(" \\\\\n") == LONG + 1 + 3, "rows, the caption, and the head on the first and on later pages"


def test_an_address_stays_within_its_comment() -> None:
    written = write_latex([table()], "http://here/\n\\input{x} é")
    assert written.splitlines()[0] == r"% http://here/\input{x}"
