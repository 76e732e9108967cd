"""Figure of the variance of a convolutional layer's units, by the units' distance to the border of the image."""

from collections.abc import Sequence

from normcore.figures.figure import Figure, figure


def border_figure(by_distance: Sequence[float], title: str) -> Figure:
    """Draw a bar for each distance to the border; 0 is the outermost ring.

    Args:
        by_distance: for each distance, the variance over the images of a unit's summed input, mean over the units.
    """
    bars = {"type": "bar", "x": list(range(len(by_distance))), "y": list(by_distance)}
    return figure([bars], f"{title}: validation images", "places from the border", "variance of the summed inputs")
