"""Heat maps of printed figures."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib import colormaps
from matplotlib.axes import Axes

from service.paper.axes import plain

DARK = 0.55  # from here on texts of cells are white
MOST_TEXTS = 12  # columns of a heat map whose cells have texts


def _start(names: Sequence[Any]) -> float:
    """Place of the first row or column. Names in words are counted from 0."""
    return 0.0 if isinstance(names[0], str) else float(names[0])


def draw_heatmap(axes: Axes, trace: Mapping[str, Any]) -> None:
    """Draw a heat map, a cell for each value, with its texts if there are few columns."""
    z = trace["z"]
    reverse = trace.get("reversescale", False)
    colours = colormaps[f"{trace.get('colorscale', 'Greys')}{'' if reverse else '_r'}"]  # Plotly's begin with dark
    left, below = _start(trace["x"]), _start(trace["y"])
    image = axes.imshow(
        z,
        cmap=colours,
        vmin=trace.get("zmin"),
        vmax=trace.get("zmax"),
        aspect="auto",
        origin="lower",
        extent=(left - 0.5, left + len(z[0]) - 0.5, below - 0.5, below + len(z) - 0.5),
    )
    for side, names in ((axes.xaxis, trace["x"]), (axes.yaxis, trace["y"])):
        if any(isinstance(name, str) for name in names):
            side.set_ticks(range(len(names)), [plain(name) for name in names])
    if "text" in trace and len(z[0]) <= MOST_TEXTS:
        for row, (texts, values) in enumerate(zip(trace["text"], z, strict=True)):
            for column, (text, value) in enumerate(zip(texts, values, strict=True)):
                ink = "white" if sum(colours(image.norm(value))[:3]) / 3 < DARK else "black"
                axes.text(left + column, below + row, plain(text), ha="center", va="center", fontsize=5.5, color=ink)
    elif trace.get("showscale", True) and axes.figure is not None:
        axes.figure.colorbar(image, ax=axes, shrink=0.9)
