"""Figures: functions that turn numbers into a Plotly figure as plain JSON. Pages, API, client and artifacts share them.

Each figure has a module. Its function takes plain numbers and returns ``{"data": [...], "layout": {...}}``, without the
colours of text and background; ``themed`` adds the colours of a light or a dark page. Torch-free.
"""

from normcore.figures.figure import Figure, Theme, as_json, themed

__all__ = ["Figure", "Theme", "as_json", "themed"]
