"""A paper of two pages: tables and figures of the service, set by pdflatex as a user would."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from service.db import Database
from service.paper.latex import LONG, escape_latex, write_latex
from service.paper.table import PaperColumn, PaperTable, RowGroup, cells
from tests.service.comparisons.test_routes import ACCURACIES, trained
from tests.service.paper.markdown_tables import SQLITE, on_paper

SMOKE = {"profile": "smoke"}
FIGURES = {
    "curves": "/v1/leaderboards/permuted_digits/figures/curves",
    "intervals": "/v1/leaderboards/permuted_digits/figures/intervals",
    "differences": "/v1/comparisons/figures/differences",
    "survival": "/v1/comparisons/figures/survival",
}
RANGES = ((0x20, 0x7F), (0xA0, 0x250), (0x370, 0x460), (0x2000, 0x2210), (0x4E00, 0x4E40), (0x1F600, 0x1F610))
PAPER = r"""\documentclass[twocolumn]{article}
\usepackage{booktabs}
\usepackage{graphicx}
\setcounter{topnumber}{4}\setcounter{dbltopnumber}{4}\setcounter{totalnumber}{8}
\renewcommand{\topfraction}{0.95}\renewcommand{\dbltopfraction}{0.95}\renewcommand{\textfraction}{0.05}
\begin{document}
Tables~\ref{tab:permuted-digits-smoke} and~\ref{tab:comparison-permuted-digits-smoke} have all numbers.
\begin{figure}[tb]\centering\includegraphics{curves}\caption{Learning curves.}\end{figure}
\begin{figure}[tb]\centering\includegraphics{intervals}\caption{Intervals.}\end{figure}
\begin{figure}[tb]\centering\includegraphics{differences}\caption{Differences.}\end{figure}
\begin{figure}[tb]\centering\includegraphics{survival}\caption{Seeds that reach the target.}\end{figure}
\input{board}
\input{comparison}
\input{card}
\input{hostile}
\end{document}
"""
HOSTILE = r"""\input{|ls} $\frac{1}{ % # & _ ^ ~ " ` < > | é ß Łódź α² 模型 😀"""
LONG_PAPER = "\\documentclass{article}\\usepackage{booktabs,longtable}\\begin{document}\\input{long}\\end{document}\n"


def pdf(folder: Path, name: str) -> tuple[str, int]:
    """Set a document, twice for its references; return its text and the number of its pages."""
    missing = [program for program in ("pdflatex", "pdftotext") if shutil.which(program) is None]
    if missing:
        pytest.skip(f"needs LaTeX: {missing[0]} is not installed")
    for _ in range(2):
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", name]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout[-3000:]
    [pages] = re.findall(r"Output written on \w+\.pdf \((\d+) pages?", done.stdout)
    assert "Warning: Reference" not in done.stdout
    command = ["pdftotext", "-layout", name.replace(".tex", ".pdf"), "-"]
    text = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, timeout=60).stdout
    return text, int(pages)


@SQLITE
def test_tables_and_figures_become_a_paper_of_two_pages(client: TestClient, db: Database, tmp_path: Path) -> None:
    none = trained(db, "none", [0.70, 0.72, 0.71, 0.73, 0.74], [20, 22, 24, 26, 28])
    norm = trained(db, "layer_norm", [*ACCURACIES], [10, 11, 12, 13, 14])
    asked = {"fingerprint": [none, norm]}
    tables = {
        "board": on_paper(client, "/v1/leaderboards/permuted_digits", "latex", **SMOKE),
        "comparison": on_paper(client, "/v1/comparisons", "latex", **asked),
        "card": on_paper(client, "/v1/methods/layer_norm/report-card", "latex"),
        "hostile": write_latex(
            [PaperTable(HOSTILE, HOSTILE, [PaperColumn(HOSTILE)], [RowGroup([cells("x")])], "")], HOSTILE
        ),
    }
    for name, content in tables.items():
        (tmp_path / f"{name}.tex").write_text(content, encoding="utf-8")
    for name, path in FIGURES.items():
        query = asked if "comparisons" in path else SMOKE
        answer = client.get(path, params={**query, "format": "pdf", "width": "3.25in"})
        (tmp_path / f"{name}.pdf").write_bytes(answer.content)
    (tmp_path / "paper.tex").write_text(PAPER)
    text, pages = pdf(tmp_path, "paper.tex")
    assert pages == 2
    assert "Tables 1 and 2 have all numbers." in text
    row = r"layer norm +82\.00 +79\.67 – 84\.33 +5 +12 +×2\.00"  # an underscore is a line, no letter
    assert re.search(row, text)
    assert re.search(r"layer norm +82\.00 +5 +\+10\.00 +\+9\.12 – \+10\.88 +<0\.001", text)
    assert "Mean over n = 5 seeds with its 95% confidence interval" in " ".join(text.split())
    assert "validation accuracy" in text, "a figure's text is text"
    assert r"\input{|ls} $\frac{1}{ % # &" in text


def test_a_long_table_breaks_over_pages_and_every_character_is_set(tmp_path: Path) -> None:
    characters = [chr(code) for low, high in RANGES for code in range(low, high)]
    rows = [cells(f"m{k}", "".join(characters[k::200])) for k in range(max(200, LONG + 1))]
    columns = [PaperColumn("Method", "left"), PaperColumn("Characters")]
    (tmp_path / "long.tex").write_text(write_latex([PaperTable("long", "Long.", columns, [RowGroup(rows)], "")], ""))
    (tmp_path / "paper.tex").write_text(LONG_PAPER)
    text, pages = pdf(tmp_path, "paper.tex")
    assert pages >= 4
    assert len(re.findall(r"^[ \f]*Method +Characters", text, re.MULTILINE)) == pages, "a head on each page"
    assert escape_latex("é") == r"\'{e}"
