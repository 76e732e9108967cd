"""Filters of the templates: texts with markup, and the words of ``service.wording``."""

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

from markupsafe import Markup, escape

from service import wording

ARXIV = re.compile(r"arXiv:([0-9]{4}\.[0-9]{4,5})")
QUOTED = re.compile(r"(`{1,2})([^`]+)\1")
SETTING = re.compile(r"(?<=\()[^()]+(?=\))")  # what an entry's name has in brackets
DIGEST = re.compile(r"[0-9a-f]{40,}")
SHORT = 12  # characters of a digest


def name(text: str) -> Markup:
    """Escape a name, and let lines break after each underscore, but not between an option and its value."""
    kept = SETTING.sub(lambda found: keep_together(found[0]), text)
    return Markup("_<wbr>").join(escape(part) for part in kept.split("_"))


def keep_together(changed: str) -> str:
    """Let the changes of a spec break only between two options: ``hidden_size 128, lr 0.01``."""
    return ", ".join(part.replace(" ", wording.UNBROKEN) for part in changed.split(", "))


def link_papers(text: str) -> Markup:
    """Escape a citation, and link its arXiv numbers to the papers."""
    link = r'<a href="https://arxiv.org/abs/\1" rel="noreferrer">arXiv:\1</a>'
    return Markup(ARXIV.sub(link, str(escape(text))))


def shorten_digest(text: str) -> Markup:
    """Shorten a checksum or a commit; its title has the whole text. Other texts are only escaped."""
    if not DIGEST.fullmatch(text):
        return escape(text)
    return Markup('<abbr title="{}">{}</abbr>').format(text, text[:SHORT])


def prose(text: str) -> Markup:
    """Escape a text, such as a docstring, and set its names between backticks as code."""
    return Markup(QUOTED.sub(r"<code>\2</code>", str(escape(text))))


FILTERS: Mapping[str, Callable[..., Any]] = {
    **{word: write for word, write in inspect.getmembers(wording, inspect.isfunction) if not word.startswith("_")},
    **{filter.__name__: filter for filter in (keep_together, name, link_papers, prose, shorten_digest)},
}
"""Filters by their names in templates. Every public function of ``wording`` is one."""
