"""Figure of numbers with their intervals."""

from functools import partial

from normcore.figures.intervals import Interval, intervals
from tests.normcore.figures.structure import check

drawn = partial(intervals, title="A figure")
ROWS = [
    Interval("layer_norm", "layer_norm", 0.9, (0.88, 0.93), [0.87, 0.93]),
    Interval("a paper's", "none", 0.8, None, filled=False),
]


def test_row_shows_mean_interval_and_seeds() -> None:
    figure = drawn(ROWS, "light", x="accuracy", line=0.85)
    check(figure)
    mean, dots, paper = figure["data"]
    assert (mean["x"], mean["y"], mean["marker"]["symbol"]) == ([0.9], [0], "circle")
    assert mean["error_x"]["array"] == [0.93 - 0.9]
    assert mean["error_x"]["arrayminus"] == [0.9 - 0.88]
    assert (dots["x"], dots["y"]) == ([0.87, 0.93], [0.3, 0.3])
    assert (paper["marker"]["symbol"], "error_x" in paper) == ("circle-open", False)
    assert figure["layout"]["yaxis"]["ticktext"] == ["layer_norm", "a paper's"]
    assert figure["layout"]["shapes"][0]["x0"] == 0.85


def test_ratios_stand_on_a_logarithmic_axis_and_shares_in_per_cent() -> None:
    assert drawn(ROWS, "dark", x="ratio", line=None, log=True)["layout"]["xaxis"]["type"] == "log"
    assert drawn(ROWS, "dark", x="ratio", line=None)["layout"]["shapes"] == []
    assert drawn(ROWS, "dark", x="accuracy", line=None, percent=True)["layout"]["xaxis"]["tickformat"] == ".1%"
