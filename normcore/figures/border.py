"""Variance of a convolutional layer's units by their distance to the border of the image."""

from collections.abc import Sequence

from normcore.figures.figure import Figure, figure


def border_figure(by_distance: Sequence[float], title: str) -> Figure:
    """A bar for each distance, 0 for the outermost ring.

    Args:
        by_distance: mean variance over the images of the units' summed inputs.
    """
    bars = {"type": "bar", "x": list(range(len(by_distance))), "y": list(by_distance)}
    return figure([bars], f"{title}: validation images", "places from the border", "variance of the summed inputs")
