"""LaTeX to MathML. Browsers draw MathML themselves, without a script or a font."""

import html
import re

from latex2mathml.converter import convert

FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\\[(\[](?P<latex>.*?)\\[)\]]</(?P=tag)>',
    re.DOTALL,
)


def typeset(page: str) -> str:
    """Replace the formulas of a page by MathML. The extension ``arithmatex`` has marked the formulas.

    Args:
        page: HTML of the page.
    """
    return FORMULA.sub(_mathml, page)


def _mathml(found: re.Match[str]) -> str:
    tag, latex = found["tag"], html.unescape(found["latex"]).strip()
    drawn = convert(latex, display="block" if tag == "div" else "inline")
    return f'<{tag} class="formula">{drawn}</{tag}>'
