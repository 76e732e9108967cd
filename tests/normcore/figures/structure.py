"""Check of the structure of a figure without Plotly, which is not a dependency."""

import json
import math
from collections.abc import Iterator
from typing import Any

from normcore.figures import Figure


def check(figure: Figure) -> None:
    """Check that a figure is plain JSON with finite numbers, and that the layout has the axes of all traces and frames.

    Raises:
        AssertionError: the figure breaks one of these rules.
    """
    assert figure.keys() - {"frames"} == {"data", "layout"}
    written = json.dumps(figure, allow_nan=False)
    assert json.loads(written) == plain(figure), "nothing changes on the way"
    layout = figure["layout"]
    assert layout["title"]["text"]
    frames = figure.get("frames", [])
    assert len({frame["name"] for frame in frames}) == len(frames)
    for trace in [*figure["data"], *(trace for frame in frames for trace in frame["data"])]:
        assert trace["type"] in ("scatter", "bar", "heatmap")
        for axis, letter in (("xaxis", "x"), ("yaxis", "y")):
            named = trace.get(axis, letter)
            assert named.startswith(letter)
            assert f"{axis}{named[1:]}" in layout
        if trace["type"] == "heatmap":
            assert len(trace["z"]) == len(trace["y"])
            assert all(len(row) == len(trace["x"]) for row in trace["z"])
        else:
            assert len(trace["x"]) == len(trace["y"])
    for name in axes(figure):
        anchor = layout[name].get("anchor")
        assert anchor is None or f"{anchor[0]}axis{anchor[1:]}" in layout
        low, high = layout[name].get("domain", (0, 1))
        assert 0 <= low < high <= 1
    for number in numbers(figure):
        assert math.isfinite(number)


def axes(figure: Figure) -> list[str]:
    """Names of the axes in the layout of a figure."""
    return [name for name in figure["layout"] if name.startswith(("xaxis", "yaxis"))]


def numbers(value: Any) -> Iterator[float]:
    """All numbers in a nested value."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for inner in value:
            yield from numbers(inner)
    elif isinstance(value, int | float):
        yield value


def plain(value: Any) -> Any:
    """Convert the tuples in a nested value to lists."""
    if isinstance(value, dict):
        return {key: plain(inner) for key, inner in value.items()}
    return [plain(inner) for inner in value] if isinstance(value, list | tuple) else value


def contrast(one: str, other: str) -> float:
    """Contrast of two colours, as WCAG 2 defines it: 1 to 21."""

    def luminance(colour: str) -> float:
        parts = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
        r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)
