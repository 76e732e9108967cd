"""Figure of gradient norms by time step."""

from normcore.figures.gradients import Flow, gradients
from tests.normcore.figures.structure import check


def test_each_gain_has_the_colour_of_the_method_and_a_symbol_of_its_own() -> None:
    flows = [Flow("gain 0.1", [(0, 0.5), (1, 1.0)]), Flow("gain 1", [(0, 0.0), (1, 1e-300), (2, 1.0)])]
    figure = gradients(flows, "layer_norm", "light", title="layer_norm in lstm")
    check(figure)
    first, second = figure["data"]
    assert (first["name"], first["x"], first["y"]) == ("gain 0.1", [0, 1], [0.5, 1.0])
    assert (second["x"], second["y"]) == ([1, 2], [1e-300, 1.0])
    assert first["line"]["color"] == second["line"]["color"] == "#3a5ee6"
    assert first["marker"]["symbol"] != second["marker"]["symbol"]
    assert figure["layout"]["yaxis"]["type"] == "log"
