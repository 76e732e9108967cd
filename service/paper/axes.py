"""Axes of printed figures: their title, scale, range and ticks, from those of a page's figure."""

import math
import re
import textwrap
from collections.abc import Iterable, Mapping
from typing import Any

from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, MultipleLocator, NullFormatter, NullLocator

LETTER = 0.052  # inches of a letter
NAMES_SHARE = 0.45  # of the width, at most, that the names of rows take
WIDE = 1.5  # powers of ten; a wider logarithmic axis has ticks at powers alone
RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
SETTING = re.compile(r"(?<![,\s]) (?=[^()]*\))")  # the space of ``lr 0.01`` in brackets
UNBROKEN = "\u00a0"
GROUPED = 10_000  # from here on thousands stand apart


def plain(text: object) -> str:
    """Write a text so that matplotlib does not read it as mathematics; lines of a page's text stay lines."""
    return str(text).replace("<br>", "\n").replace("$", r"\$")


def wrap_names(names: Iterable[object], width: float) -> list[str]:
    """Break names of rows into lines that leave most of a figure's ``width`` to the plot."""
    return [plain(wrap_name(str(name), int(NAMES_SHARE * width / LETTER))) for name in names]


def wrap_name(name: str, letters: int) -> str:
    """Break a name into lines of so many letters, but not between an option and its value."""
    kept = SETTING.sub(UNBROKEN, name)
    lines = textwrap.wrap(kept, letters, break_long_words=False)
    return "\n".join(lines).replace(UNBROKEN, " ") or name


def set_axis(axes: Axes, side: str, wanted: Mapping[str, Any], width: float) -> None:
    """Set the x or y axis as ``wanted``, an axis of Plotly's layout, says.

    Args:
        width: width of the figure in inches.
    """
    axis = axes.xaxis if side == "x" else axes.yaxis
    axis.set_label_text(plain(wanted.get("title", {}).get("text", "")))
    axis.set_visible(wanted.get("visible", True))
    axes.spines["bottom" if side == "x" else "left"].set_visible(wanted.get("visible", True))
    if wanted.get("type") == "log":
        (axes.set_xscale if side == "x" else axes.set_yscale)("log")
    _set_range(axes, side, wanted)
    if "ticktext" in wanted:
        axis.set_ticks(wanted["tickvals"], wrap_names(wanted["ticktext"], width))
    elif "tickvals" in wanted:
        axis.set_ticks(wanted["tickvals"], [f"{value:g}" for value in wanted["tickvals"]])
        axis.set_minor_locator(NullLocator())
    elif wanted.get("type") == "log":
        _set_log_ticks(axis)
    elif wanted.get("type") != "category":
        _set_ticks(axis, wanted)
    axes.grid(wanted.get("showgrid", True) and not axes.images, axis="x" if side == "x" else "y")


def _set_ticks(axis: Axis, wanted: Mapping[str, Any]) -> None:
    locator = MultipleLocator(wanted["dtick"]) if "dtick" in wanted else MaxNLocator(6, steps=[1, 2, 2.5, 5, 10])
    axis.set_major_locator(locator)
    is_share = "%" in wanted.get("tickformat", "")
    axis.set_major_formatter(FuncFormatter(lambda value, _: _share(value) if is_share else _number(value)))


def _set_log_ticks(axis: Axis) -> None:
    low, high = sorted(axis.get_view_interval())
    is_wide = math.log10(high / low) > WIDE
    axis.set_major_locator(LogLocator(10, subs=(1.0,) if is_wide else (1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)))
    axis.set_minor_locator(NullLocator())
    axis.set_minor_formatter(NullFormatter())
    axis.set_major_formatter(FuncFormatter(lambda value, _: _power(value) if is_wide else f"{value:g}"))


def _power(value: float) -> str:
    """Power of ten: 10⁻⁶."""
    return f"10{str(round(math.log10(value))).translate(RAISED)}"


def _share(value: float) -> str:
    return f"{round(100 * value, 6):g}%".replace("-", "−")


def _number(value: float) -> str:
    if abs(value) >= GROUPED:
        return f"{value:,.0f}".replace(",", "\u202f").replace("-", "−")
    return f"{round(value, 10):g}".replace("-", "−")


def _set_range(axes: Axes, side: str, wanted: Mapping[str, Any]) -> None:
    get, put = (axes.get_xlim, axes.set_xlim) if side == "x" else (axes.get_ylim, axes.set_ylim)
    low, high = get()
    if "range" in wanted:
        low, high = (10**end if wanted.get("type") == "log" else end for end in wanted["range"])
    if wanted.get("rangemode") == "tozero":
        low, high = min(low, 0.0) if low < -0.1 * high else 0.0, max(high, 0.0)
    limits = wanted.get("autorangeoptions", {})
    low, high = max(low, limits.get("clipmin", low)), min(high, limits.get("clipmax", high))
    low, high = max(low, wanted.get("minallowed", low)), min(high, wanted.get("maxallowed", high))
    if wanted.get("autorange") == "reversed":
        low, high = max(low, high), min(low, high)
    put(low, high)
