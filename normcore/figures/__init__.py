"""Figures: functions that turn numbers into a Plotly figure as plain JSON. Pages, API, client and artifacts share them.

Each figure has a module. Its function takes plain numbers and returns ``{"data": [...], "layout": {...}}``, without the
colours of text and background; ``apply_theme`` adds the colours of a light or a dark page. Torch-free.
"""

from normcore.figures.figure import Figure, Theme, apply_theme, as_json

__all__ = ["Figure", "Theme", "apply_theme", "as_json"]
