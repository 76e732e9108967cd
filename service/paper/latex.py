"""Tables for papers in LaTeX, with the package booktabs. Long tables break over pages, with the package longtable."""

import re
import unicodedata
from collections.abc import Iterator, Sequence

from anyascii import anyascii

from service.paper.table import PaperCell, PaperTable, RowGroup

LONG = 40  # rows; a table with more breaks over pages
WIDE = 46  # characters of a line; a wider table spans both columns of a page
ALIGNS = {"left": "l", "right": "r"}
SPECIAL = {
    **{character: f"\\{character}" for character in "{}$&#_%"},
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "`": r"\`{}", '"': "''"},
    **{character: f"${character}$" for character in "<>|"},
}
"""Characters of ASCII that are commands of LaTeX, or look different in its first fonts."""
SIGNS = {
    **{"–": "--", "—": "---", "−": "$-$", "×": r"$\times$", "·": r"$\cdot$", "±": r"$\pm$", "∞": r"$\infty$"},
    **{"≤": r"$\leq$", "≥": r"$\geq$", "≠": r"$\neq$", "≈": r"$\approx$", "→": r"$\to$", "°": r"$^{\circ}$"},
    **{"\u00a0": "~", "\u202f": r"\,", "…": r"\ldots{}", "‘": "`", "’": "'", "“": "``", "”": "''"},
    **{"ß": r"\ss{}", "æ": r"\ae{}", "Æ": r"\AE{}", "œ": r"\oe{}", "Œ": r"\OE{}", "ø": r"\o{}", "Ø": r"\O{}"},
    **{"ł": r"\l{}", "Ł": r"\L{}", "ı": r"\i{}", "§": r"\S{}", "¶": r"\P{}", "©": r"\copyright{}"},
}
ACCENTS = {
    **{"\u0300": "`", "\u0301": "'", "\u0302": "^", "\u0303": "~", "\u0304": "=", "\u0306": "u", "\u0307": "."},
    **{"\u0308": '"', "\u030a": "r", "\u030b": "H", "\u030c": "v", "\u0323": "d", "\u0327": "c", "\u0331": "b"},
}
"""Accents that LaTeX sets over and under letters, by their combining character."""
GREEK = re.compile(r"GREEK (SMALL|CAPITAL) LETTER (\w+)")
GREEK_SMALL = re.compile(
    "alpha|beta|gamma|delta|epsilon|zeta|eta|theta|iota|kappa|lambda|mu|nu|xi|pi|rho|sigma|tau|upsilon|phi|chi|psi|omega"
)
GREEK_CAPITAL = re.compile("gamma|delta|theta|lambda|xi|pi|sigma|upsilon|phi|psi|omega")  # others are Latin letters
UNNAMED = "?"  # stands for a character that no letters of ASCII tell


def escape_latex(text: str) -> str:
    """Write any text so that LaTeX sets it without a package. Letters that it does not have are transliterated."""
    return "".join(map(_character, unicodedata.normalize("NFC", text)))


def _character(character: str) -> str:
    if character in SPECIAL:
        return SPECIAL[character]
    if " " <= character <= "~":
        return character
    if character in SIGNS:
        return SIGNS[character]
    if unicodedata.category(character)[0] in "CZ":  # control characters, lone surrogates and spaces
        return " "
    return _greek(character) or _raised(character) or _accented(character) or _transliterate(character)


def _greek(character: str) -> str | None:
    found = GREEK.fullmatch(unicodedata.name(character, ""))
    name = found[2].lower().replace("lamda", "lambda") if found else ""
    if found and found[1] == "SMALL" and GREEK_SMALL.fullmatch(name):
        return f"$\\{name}$"
    if found and found[1] == "CAPITAL" and GREEK_CAPITAL.fullmatch(name):
        return f"$\\{name.capitalize()}$"
    return None


def _raised(character: str) -> str | None:
    """Superscripts and subscripts."""
    kind, _, code = unicodedata.decomposition(character).partition(" ")
    if kind not in ("<super>", "<sub>") or " " in code:
        return None
    return f"${'^' if kind == '<super>' else '_'}{{{_transliterate(chr(int(code, 16)))}}}$"


def _accented(character: str) -> str | None:
    base, *marks = list(unicodedata.normalize("NFD", character))
    if len(marks) != 1 or marks[0] not in ACCENTS or not base.isascii():
        return None
    letter = f"\\{base}" if base in "ij" and marks[0] != "\u0323" else base  # without their dots
    return f"\\{ACCENTS[marks[0]]}{{{letter}}}"


def _transliterate(character: str) -> str:
    return "".join(SPECIAL.get(letter, letter) for letter in anyascii(character) or UNNAMED)


def write_latex(tables: Sequence[PaperTable], address: str) -> str:
    """Write tables as a fragment of LaTeX. Comments name the address that it comes from, and the packages it needs."""
    packages = ["booktabs", *(["longtable"] if any(map(_is_long, tables)) else [])]
    asked = re.sub(r"[^!-~]", "", address)
    needed = "".join(f"\\usepackage{{{package}}}" for package in packages)
    return f"% {asked}\n% In the preamble: {needed}\n" + "\n".join("\n".join(_table(table)) + "\n" for table in tables)


def _is_long(table: PaperTable) -> bool:
    return sum(len(group.rows) for group in table.groups) > LONG


def _is_wide(table: PaperTable) -> bool:
    rows = [row for group in table.groups for row in group.rows]
    widths = [max(len(column.head), *(len(row[k].text) for row in rows), 0) for k, column in enumerate(table.columns)]
    return sum(widths) + 2 * len(widths) > WIDE


def _table(table: PaperTable) -> Iterator[str]:
    caption = f"\\caption{{{escape_latex(table.caption)}}}"
    label = f"\\label{{tab:{re.sub(r'[^A-Za-z0-9]+', '-', table.label).strip('-')}}}"
    columns = f"@{{}}{''.join(ALIGNS[column.align] for column in table.columns)}@{{}}"
    head = f"{' & '.join(escape_latex(column.head) for column in table.columns)} \\\\"
    if _is_long(table):
        yield "% longtable breaks over pages; it needs a page with one column"
        yield f"\\begin{{longtable}}{{{columns}}}"
        yield from (f"{caption} {label} \\\\", r"\toprule", head, r"\midrule", r"\endfirsthead")
        yield from (r"\toprule", head, r"\midrule", r"\endhead")
        yield from (r"\bottomrule", r"\endfoot", *_body(table), r"\end{longtable}")
        return
    kind = "table*" if _is_wide(table) else "table"
    yield from (f"\\begin{{{kind}}}[tb]", r"\centering\small\setlength{\tabcolsep}{4pt}", caption, label)
    yield from (r"\par\smallskip", f"\\begin{{tabular}}{{{columns}}}", r"\toprule", head, r"\midrule")
    yield from (*_body(table), r"\bottomrule", r"\end{tabular}", f"\\end{{{kind}}}")


def _body(table: PaperTable) -> Iterator[str]:
    width = len(table.columns)
    if not table.filled:
        yield f"\\multicolumn{{{width}}}{{@{{}}l@{{}}}}{{{escape_latex(table.empty)}}} \\\\"
    for k, group in enumerate(table.filled):
        if k:
            yield r"\midrule" if group.title else r"\addlinespace"
        if group.title:
            yield f"\\multicolumn{{{width}}}{{@{{}}l@{{}}}}{{\\emph{{{escape_latex(group.title)}}}}} \\\\"
        yield from _rows(group)


def _rows(group: RowGroup) -> Iterator[str]:
    return (f"{' & '.join(map(_cell, row))} \\\\" for row in group.rows)


def _cell(cell: PaperCell) -> str:
    text = escape_latex(cell.text)
    return f"\\textbf{{{text}}}" if cell.strong else text
