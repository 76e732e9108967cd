"""Figure of a model's attention weights at each step."""

from collections.abc import Sequence

from normcore.figures.figure import Figure, figure

ROW, AROUND = 16, 200  # pixels: height of a row, and of everything around the rows


def attention(weights: Sequence[Sequence[float]], names: Sequence[str], title: str, step: str, of: str) -> Figure:
    """Draw a heatmap of attention weights: a row for each of ``names``, a column for each step.

    Args:
        weights: one list of weights for each row.
        step, of: titles of the axis of columns and of the axis of rows.
    """
    heatmap = {
        "type": "heatmap",
        "x": list(range(1, len(weights[0]) + 1)),
        "y": list(range(len(names))),
        "z": [[round(weight, 4) for weight in row] for row in weights],
        "zmin": 0,
        "colorscale": "Blues",
        "reversescale": True,  # more is darker
    }
    ticks = {"tickmode": "array", "tickvals": list(range(len(names))), "ticktext": list(names)}
    return figure(
        [heatmap],
        title,
        step,
        of,
        xaxis={"title": {"text": step}, "showticklabels": len(weights[0]) > 1},
        yaxis={"title": {"text": of}, "autorange": "reversed", "automargin": True, **ticks},
        height=ROW * len(names) + AROUND,
    )
