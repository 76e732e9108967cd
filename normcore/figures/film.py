"""Film: an animated figure of pictures in grey levels."""

from collections.abc import Sequence
from typing import Any

from normcore.figures.figure import Figure, figure

Picture = Sequence[Sequence[float]]
FRAME_MS = 150


def film(frames: Sequence[Picture], title: str, step: str) -> Figure:
    """Make an animated heatmap with a slider. It shows the last frame at first.

    Args:
        frames: pictures of one size; levels from 0, black, to 1, white.
        step: name of a frame's number, shown at the slider.
    """
    names = [str(k) for k in range(1, len(frames) + 1)]
    hidden = {"visible": False}
    made = figure(
        [_heatmap(frames[-1])],
        title,
        "",
        "",
        xaxis=hidden,
        yaxis={**hidden, "autorange": "reversed", "scaleanchor": "x"},
        sliders=[
            {
                "active": len(frames) - 1,
                "currentvalue": {"prefix": f"{step} "},
                "steps": [{"label": name, "method": "animate", "args": [[name], _AT_ONCE]} for name in names],
            }
        ],
        updatemenus=[
            {
                "type": "buttons",
                "showactive": False,
                "buttons": [{"label": "Play", "method": "animate", "args": [None, _IN_TURN]}],
            }
        ],
    )
    return made | {"frames": [{"name": n, "data": [_heatmap(frame)]} for n, frame in zip(names, frames, strict=True)]}


_AT_ONCE: dict[str, Any] = {"mode": "immediate", "frame": {"duration": 0}, "transition": {"duration": 0}}
_IN_TURN: dict[str, Any] = {"frame": {"duration": FRAME_MS}, "transition": {"duration": 0}, "fromcurrent": False}


def _heatmap(frame: Picture) -> dict[str, Any]:
    z = [[round(level, 3) for level in row] for row in frame]
    grey = {"zmin": 0, "zmax": 1, "colorscale": "Greys", "reversescale": True, "showscale": False}
    return {"type": "heatmap", "x": list(range(len(z[0]))), "y": list(range(len(z))), "z": z, **grey}
