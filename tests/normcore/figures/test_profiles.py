"""Performance profiles."""

from normcore.figures.profiles import ProfileCurve, profiles
from tests.normcore.figures.structure import check


def test_each_method_has_a_staircase_in_its_colour() -> None:
    figure = profiles(
        [ProfileCurve("layer_norm", [(1.0, 0.5), (2.0, 1.0)]), ProfileCurve("none", [(1.0, 0.5)])], "light"
    )
    check(figure)
    norm, none = figure["data"]
    assert (norm["x"], norm["y"], norm["line"]["shape"]) == ([1.0, 2.0], [0.5, 1.0], "hv")
    assert (norm["line"]["color"], none["line"]["dash"]) == ("#3a5ee6", "dash")
    assert figure["layout"]["xaxis"]["type"] == "log"
