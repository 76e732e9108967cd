"""Figure of the share of seeds that have reached the target."""

from normcore.figures.survival import Stairs, survival
from tests.normcore.figures.structure import check


def test_a_staircase_rises_as_seeds_reach_the_target_and_goes_on_to_the_end() -> None:
    figure = survival(
        [
            Stairs("layer_norm", "layer_norm", [(0, 1.0), (10, 0.5), (20, 0.0)]),
            Stairs("none", "none", [(0, 1.0), (30, 0.5), (40, 0.5)]),
            Stairs("rms_norm", "rms_norm", []),
        ],
        "light",
    )
    check(figure)
    all_there, half, ended = figure["data"]
    assert (all_there["x"], all_there["y"]) == ([0, 10, 20, 40], [0, 0.5, 1, 1])
    assert (half["x"], half["y"], half["line"]["dash"]) == ([0, 30, 40], [0, 0.5, 0.5], "dash")
    assert (ended["x"], ended["y"], ended["marker"]["symbol"]) == ([40], [0.5], "circle-open")
