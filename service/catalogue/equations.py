"""Equations of methods and cells, as LaTeX and as MathML, which browsers draw without a script or a font.

An equation is LaTeX between ``$$`` at the end of the docstring of the module with the class of options; the meaning of
its letters may follow. Digests of own code leave out docstrings, so a changed equation sets no run aside.
"""

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from markupsafe import Markup

from normcore.spec.part import Part

EQUATION = re.compile(r"\$\$.*", re.DOTALL)
STYLE = re.compile(r' style="[^"]*"')  # the pages' Content-Security-Policy refuses it
TAG = re.compile(r"</?([a-zA-Z][\w:.-]*)([^>]*)")
MATHML = re.compile(
    "math|mrow|mi|mn|mo|mtext|mspace|msub|msup|msubsup|mfrac|msqrt|mroot|mover|munder|munderover|mtable|mtr|mtd|mstyle"
    "|mpadded|mphantom|menclose"
)

Meanings = Sequence[tuple[re.Pattern[str], str]]
"""Letters, and what they mean."""
OF_NORMS: Meanings = (
    (re.compile(r"(?<![A-Za-z\\])a(?![A-Za-z])"), "a: the summed inputs of a layer"),
    (re.compile(r"\\gamma\b"), "γ: the gain"),
    (re.compile(r"\\beta\b"), "β: the shift"),
)
"""Letters that mean the same in the equations of all methods."""


@dataclass(frozen=True, slots=True)
class Equation:
    """Formulas of a class as MathML, and the meaning of their letters.

    Attributes:
        formulas: MathML of each formula; its LaTeX as text if it cannot be converted.
    """

    formulas: Sequence[Markup | str]
    letters: str


def latex_of(kind: type[Part]) -> str:
    """Equation of a class with the meaning of its letters, from the docstring of the class's module; may be empty."""
    found = EQUATION.search(sys.modules[kind.__module__].__doc__ or "")
    return found[0].strip() if found else ""


def equation_of(kind: type[Part], common: Meanings = ()) -> Equation:
    """Typeset the equation of a class.

    Args:
        common: letters whose meaning stands before that of the class's own letters, if a formula has them.
    """
    *parts, own = latex_of(kind).split("$$")
    formulas = parts[1::2]
    known = "; ".join(meaning for letter, meaning in common if any(map(letter.search, formulas)))
    letters = f"{known}. {own.strip()}" if known else own.strip()
    return Equation([typeset(formula) for formula in formulas], letters.strip())


@lru_cache(maxsize=256)
def typeset(latex: str) -> Markup | str:
    """Convert a formula to MathML. A formula that is no LaTeX, or makes other HTML, stays as it was written."""
    from latex2mathml.converter import convert  # here, as its import takes a fifth of a second

    try:
        drawn = STYLE.sub("", convert(latex.strip(), display="block"))
    except Exception:  # every error of the converter has a class of its own; the formula may be a user's
        return latex.strip()
    tags = TAG.findall(drawn)  # the converter does not escape texts
    is_mathml = all(
        MATHML.fullmatch(name) and "href" not in attributes and " on" not in attributes for name, attributes in tags
    )
    return Markup(drawn) if is_mathml and drawn.count("<") == len(tags) else latex.strip()
