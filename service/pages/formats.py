"""Texts of pages that are markup; and the filters of the templates, which write numbers as ``service.wording`` does."""

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
    "linked",
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
    "shortened",
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
    """A name that may break after each underscore, escaped."""
    return Markup("_<wbr>").join(escape(part) for part in text.split("_"))


def linked(text: str) -> Markup:
    """A citation whose arXiv numbers lead to the papers, escaped."""
    link = r'<a href="https://arxiv.org/abs/\1" rel="noreferrer">arXiv:\1</a>'
    return Markup(ARXIV.sub(link, str(escape(text))))


def shortened(text: str) -> Markup:
    """A checksum or a commit by its first characters, the whole of it in its title; other texts as they are."""
    if not DIGEST.fullmatch(text):
        return escape(text)
    return Markup('<abbr title="{}">{}</abbr>').format(text, text[:SHORT])


def prose(text: str) -> Markup:
    """A text that has names between backticks, as docstrings have: they are set as code. Escaped."""
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
        linked,
        prose,
        shortened,
        figure,
        option,
        pair,
        rank_interval,
    )
}
