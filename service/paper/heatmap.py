"""Heat maps of printed figures."""

from collections.abc import Mapping
from typing import Any

from matplotlib import colormaps
from matplotlib.axes import Axes

from service.paper.axes import plain

DARK = 0.55  # from here on texts of cells are white
MOST_TEXTS = 12  # columns of a heat map whose cells have texts


def draw_heatmap(axes: Axes, trace: Mapping[str, Any]) -> None:
    """Draw a heat map, a cell for each value, with its texts if there are few columns."""
    z = trace["z"]
    reverse = trace.get("reversescale", False)
    colours = colormaps[f"{trace.get('colorscale', 'Greys')}{'' if reverse else '_r'}"]  # Plotly's begin with dark
    image = axes.imshow(z, cmap=colours, vmin=trace.get("zmin"), vmax=trace.get("zmax"), aspect="auto", origin="lower")
    for side, names in ((axes.xaxis, trace["x"]), (axes.yaxis, trace["y"])):
        if any(isinstance(name, str) for name in names):
            side.set_ticks(range(len(names)), [plain(name) for name in names])
    if "text" in trace and len(z[0]) <= MOST_TEXTS:
        for row, (texts, values) in enumerate(zip(trace["text"], z, strict=True)):
            for column, (text, value) in enumerate(zip(texts, values, strict=True)):
                ink = "white" if sum(colours(image.norm(value))[:3]) / 3 < DARK else "black"
                axes.text(column, row, plain(text), ha="center", va="center", fontsize=5.5, color=ink)
    elif trace.get("showscale", True) and axes.figure is not None:
        axes.figure.colorbar(image, ax=axes, shrink=0.9)
