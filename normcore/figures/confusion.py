"""Figure of a confusion matrix: true classes and predicted classes."""

from collections.abc import Sequence

from normcore.figures.figure import Figure, figure


def confusion_matrix(counts: Sequence[Sequence[int]], classes: Sequence[str], title: str) -> Figure:
    """Draw a heatmap of shares, with counts written into the fields. The shares of a row add up to 1.

    Args:
        counts: number of examples by true class (row) and predicted class (column).
    """
    totals = [max(sum(row), 1) for row in counts]
    shares = [[count / total for count in row] for row, total in zip(counts, totals, strict=True)]
    heatmap = {
        "type": "heatmap",
        "x": list(classes),
        "y": list(classes),
        "z": shares,
        "text": [[str(count) for count in row] for row in counts],
        "texttemplate": "%{text}",
        "zmin": 0,
        "zmax": 1,
        "colorscale": "Blues",
        "hovertemplate": "%{y} taken for %{x}: %{text} (%{z:.1%})<extra></extra>",
    }
    axis = {"type": "category"}
    return figure(
        [heatmap],
        title,
        "taken for",
        "is",
        xaxis={**axis, "title": {"text": "taken for"}},
        yaxis={**axis, "title": {"text": "is"}, "autorange": "reversed"},
    )
