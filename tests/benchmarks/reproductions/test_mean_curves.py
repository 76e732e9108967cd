"""Curves of methods: one line for each method, with an interval around the line."""

from benchmarks.reproductions.mean_curves import Band, mean_curves
from normcore.figures.figure import PALETTE
from tests.normcore.figures.structure import check

CURVES = {
    "none": [Band(10, 0.4, (0.3, 0.5)), Band(20, 0.6, (0.55, 0.65))],
    "layer norm": [Band(10, 0.5, None), Band(20, 0.8, None)],
}


def test_each_curve_is_a_line_of_its_means_and_the_baselines_is_dashed() -> None:
    figure = mean_curves(CURVES, "A comparison", "updates", "accuracy", baseline="none")
    check(figure)
    lines = {trace["name"]: trace for trace in figure["data"] if "name" in trace}
    for name, bands in CURVES.items():
        assert list(zip(lines[name]["x"], lines[name]["y"], strict=True)) == [(b.x, b.mean) for b in bands]
    assert [(line["line"]["color"], line["line"]["dash"]) for line in lines.values()] == [
        (PALETTE[0], "dash"),
        (PALETTE[1], "solid"),
    ]


def test_the_filled_area_follows_the_upper_ends_and_returns_along_the_lower_ends() -> None:
    [around] = [trace for trace in mean_curves(CURVES, "", "", "")["data"] if "name" not in trace]
    assert (around["x"], around["y"]) == ([10, 20, 20, 10], [0.5, 0.65, 0.55, 0.3])
    assert (around["fillcolor"], around["showlegend"]) == (PALETTE[0], False)
