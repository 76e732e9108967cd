"""Handwriting of a pen, as SVG.

Shapes: T points (dx, dy, end): the offset from the point before, y downwards, and 1 if the pen is lifted afterwards.
"""

from collections.abc import Sequence
from html import escape

from torch import Tensor

HEIGHT = 120.0  # of a line; offsets of any unit are scaled to it
MARGIN = 20.0
WIDTH = 2.0  # of the pen's stroke


def svg(lines: Sequence[Tensor], title: str) -> bytes:
    """Draw lines of points (T, 3) below each other, each scaled to ``HEIGHT``, on white, to be readable on any page.

    Args:
        title: the text that the lines say, for readers who cannot see the picture.
    """
    paths, widths = [], []
    for k, points in enumerate(lines):
        path, width = _path(points, MARGIN + k * (HEIGHT + MARGIN))
        paths.append(path)
        widths.append(width)
    width, height = max(widths) + 2 * MARGIN, len(lines) * (HEIGHT + MARGIN) + MARGIN
    size = f'width="{width:.1f}" height="{height:.1f}" viewBox="0 0 {width:.1f} {height:.1f}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">'
        f"<title>{escape(title)}</title>"
        f'<rect width="100%" height="100%" fill="#ffffff"/>'
        f'<g fill="none" stroke="#1f2328" stroke-width="{WIDTH}" stroke-linecap="round" stroke-linejoin="round">'
        f"{''.join(paths)}</g></svg>"
    ).encode()


def _path(points: Tensor, top: float) -> tuple[str, float]:
    """Make an SVG path of a line's strokes; returns the path and its width."""
    at = points[:, :2].cumsum(0)
    low, high = at.min(0).values, at.max(0).values
    scale = HEIGHT / max((high - low)[1].item(), 1e-6)
    at = (at - low) * scale
    commands, begins = [], True
    for (x, y), end in zip(at.tolist(), points[:, 2].tolist(), strict=True):
        commands.append(f"{'M' if begins else 'L'}{x + MARGIN:.1f} {y + top:.1f}")
        begins = end > 0.5
    return f'<path d="{" ".join(commands)}"/>', (high - low)[0].item() * scale
