"""Figure of the value of a search: for each method, the expected best value of k settings, over k."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from normcore.figures.figure import THEMES, Figure, Theme
from normcore.figures.method_curves import MethodLine, method_curves

MAX_TICKS = 12  # up to here, every number of settings has a tick


@dataclass(frozen=True, slots=True)
class Budget:
    """Budget curve of a method.

    Attributes:
        points: (k, mean, low, high): the number k of settings that are tried; mean, 5% and 95% point of the best value
            over all choices of k settings.
    """

    method: str
    points: Sequence[tuple[int, float, float, float]]


def budgets(
    curves: Sequence[Budget], flips: Sequence[int], theme: Theme, *, title: str, y: str, percent: bool = False
) -> Figure:
    """Draw each budget curve as a line with a band.

    Args:
        flips: numbers of settings at which another method becomes the best; each is marked by a dotted line.
        y: title of the axis of values.
        percent: whether values are shares.
    """
    lines = [_line(curve) for curve in curves]
    drawn = method_curves(lines, theme, title=title, x="settings tried", y=y, target=None, percent=percent)
    most = max((len(curve.points) for curve in curves), default=1)
    layout = drawn["layout"]
    x = {**layout["xaxis"], "range": [0.7, most + 0.3]} | ({"dtick": 1} if most <= MAX_TICKS else {})
    values = {name: content for name, content in layout["yaxis"].items() if name != "range"}  # show whole bands
    return {**drawn, "layout": {**layout, "xaxis": x, "yaxis": values, **_marks(flips, theme)}}


def _line(curve: Budget) -> MethodLine:
    k, mean, low, high = ([point[n] for point in curve.points] for n in range(4))
    return MethodLine(curve.method, curve.method, k, mean, low, high)


def _marks(flips: Sequence[int], theme: Theme) -> dict[str, Any]:
    """Dotted vertical lines at the flips: the numbers of settings at which another method becomes the best."""
    colour = THEMES[theme]["text"]
    lines = [
        {"type": "line", "x0": k, "x1": k, "y0": 0, "y1": 1, "yref": "paper", "line": {"dash": "dot", "color": colour}}
        for k in flips
    ]
    at_foot = {"y": 0, "yref": "paper", "xanchor": "left", "yanchor": "bottom", "showarrow": False}
    texts = [{"text": f"flip at {k}", "x": k, **at_foot} for k in flips]
    return {"shapes": lines, "annotations": texts}
