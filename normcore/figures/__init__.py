"""Figures as values: from numbers to a Plotly figure as plain JSON, which page, API, client and artifacts share.

One module a figure. Functions take plain numbers and give ``{"data": [...], "layout": {...}}`` without colours of text
and ground; ``themed`` adds those of a light or a dark page. Torch-free.
"""

from normcore.figures.figure import Figure, Theme, as_json, themed

__all__ = ["Figure", "Theme", "as_json", "themed"]
