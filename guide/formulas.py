"""LaTeX to MathML, which browsers draw themselves: no script and no font is needed."""

import html
import re

from latex2mathml.converter import convert

FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\[(\[](?P<latex>.*?)\\[)\]]</(?P=tag)>',
    re.DOTALL,
)


def typeset(page: str) -> str:
    """Replace the formulas of a page, which the extension ``arithmatex`` has marked, by MathML.

    Args:
        page: HTML.
    """
    return FORMULA.sub(_mathml, page)


def _mathml(found: re.Match[str]) -> str:
    tag, latex = found["tag"], html.unescape(found["latex"]).strip()
    drawn = convert(latex, display="block" if tag == "div" else "inline")
    return f'<{tag} class="formula">{drawn}</{tag}>'
