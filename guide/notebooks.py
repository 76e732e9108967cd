"""Notebooks as pages of the site: text, code and stored outputs. Nothing is run here.

The site allows no styles inside of a page, so they are taken out of tables.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from guide.reference.markdown import joined
from normbench.publishing.elements import DOCTYPE, parse

DROPPED = ("class", "style", "border")
"""Attributes of tables that set their look."""
EMPTY_LINES, NEW_LINE = re.compile(r"\n\s*\n"), "\n"


def page(notebook: str, name: str) -> str:
    """Markdown of a notebook, which begins with its title.

    Args:
        notebook: text of the file.
        name: name of the file, for a link.
    """
    title, *cells = json.loads(notebook)["cells"]
    return joined(
        _text(title),
        f"This page is the notebook [{name}]({name}) with its outputs.",
        *(part for cell in cells for part in _cell(cell)),
    )


def _cell(cell: Mapping[str, Any]) -> Iterator[str]:
    if cell["cell_type"] == "markdown":
        yield _text(cell)
        return
    yield f"```python\n{_text(cell)}\n```"
    for output in cell["outputs"]:
        yield _output(output)


def _output(output: Mapping[str, Any]) -> str:
    """Markdown of an output: its table, or else its text."""
    data = output.get("data", {})
    if "text/html" in data:
        return _without_styles("".join(data["text/html"]))
    return f"```text\n{''.join(output.get('text') or data['text/plain']).rstrip()}\n```"


def _without_styles(html: str) -> str:
    """HTML without styles, and without empty lines, so that Markdown leaves it as it is."""
    root = parse(html)
    for element in root.walk():
        element.content = [part for part in element.content if isinstance(part, str) or part.tag != "style"]
        for attribute in DROPPED:
            element.attributes.pop(attribute, None)
    inside = str(root).removeprefix(DOCTYPE)
    return f'<div class="output">{EMPTY_LINES.sub(NEW_LINE, inside).strip()}</div>'


def _text(cell: Mapping[str, Any]) -> str:
    return "".join(cell["source"])
