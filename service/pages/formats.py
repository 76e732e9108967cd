"""Filters of the templates: texts with markup, and the numbers in words of ``service.wording``."""

import re
from collections.abc import Callable, Mapping
from typing import Any

from markupsafe import Markup, escape

from service.wording import (
    DASH,
    NO_SPREAD,
    THIN,
    UNBROKEN,
    count,
    difference,
    difference_interval,
    distance,
    entries,
    figure,
    in_words,
    interval,
    interval_in_words,
    level,
    listed,
    moment,
    option,
    p_value,
    pair,
    rank_interval,
    ratio,
    ratio_interval,
    seconds,
    share,
    size,
    span,
    steps,
    time_interval,
    value,
)

__all__ = [
    "DASH",
    "FILTERS",
    "NO_SPREAD",
    "THIN",
    "UNBROKEN",
    "count",
    "difference",
    "difference_interval",
    "distance",
    "entries",
    "figure",
    "in_words",
    "interval",
    "interval_in_words",
    "level",
    "link_papers",
    "listed",
    "moment",
    "name",
    "option",
    "p_value",
    "pair",
    "prose",
    "rank_interval",
    "ratio",
    "ratio_interval",
    "seconds",
    "share",
    "shorten_digest",
    "size",
    "span",
    "steps",
    "time_interval",
    "value",
]

ARXIV = re.compile(r"arXiv:([0-9]{4}\.[0-9]{4,5})")
QUOTED = re.compile(r"(`{1,2})([^`]+)\1")
DIGEST = re.compile(r"[0-9a-f]{40,}")
SHORT = 12  # characters of a digest


def name(text: str) -> Markup:
    """Escape a name, and let lines break after each underscore."""
    return Markup("_<wbr>").join(escape(part) for part in text.split("_"))


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
    filter.__name__: filter
    for filter in (
        value,
        level,
        interval,
        interval_in_words,
        span,
        difference,
        distance,
        difference_interval,
        steps,
        entries,
        seconds,
        ratio,
        ratio_interval,
        p_value,
        share,
        size,
        count,
        moment,
        listed,
        name,
        link_papers,
        prose,
        shorten_digest,
        figure,
        option,
        pair,
        rank_interval,
    )
}
