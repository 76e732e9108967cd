"""Figure of the learning curves of one experiment's seeds."""

from normcore.figures.seed_curves import SeedLine, seed_curves
from normcore.figures.styles import style_of

SEEDS = [SeedLine("seed 0", [5, 10], [0.25, 0.5], {"run": "run_1"}), SeedLine("seed 1", [], [], {"run": "run_2"})]
MEAN = SeedLine("mean", [5], [0.25], {"mean": True})


def test_seeds_share_the_methods_colour_and_are_told_apart_by_symbols() -> None:
    figure = seed_curves(SEEDS, MEAN, "rms_norm", "dark", x="steps", y="accuracy", target=None)
    first, second, mean = figure["data"]
    colour = style_of("rms_norm").dark
    assert [trace["line"]["color"] for trace in figure["data"]] == [colour] * 3
    assert first["marker"]["symbol"] != second["marker"]["symbol"]
    assert (first["x"], first["y"], first["meta"]) == ([5, 10], [0.25, 0.5], {"run": "run_1"})
    assert (second["x"], second["meta"]) == ([], {"run": "run_2"})
    assert (mean["line"]["dash"], mean["mode"], mean["y"]) == ("dash", "lines", [0.25])
    assert "shapes" not in figure["layout"]


def test_a_single_seed_has_no_mean() -> None:
    figure = seed_curves(SEEDS[:1], None, "none", "light", x="steps", y="accuracy", target=None)
    assert [trace["name"] for trace in figure["data"]] == ["seed 0"]


def test_shares_are_in_per_cent_from_0_to_100_and_the_target_is_named() -> None:
    layout = seed_curves(SEEDS, MEAN, "none", "light", x="steps", y="accuracy", target=0.5, percent=True)["layout"]
    axis = layout["yaxis"]
    assert (axis["tickformat"], axis["minallowed"], axis["maxallowed"]) == (".0%", 0, 1)
    assert (layout["shapes"][0]["y0"], layout["annotations"][0]["text"]) == (0.5, "target 50%")


def test_divergence_of_a_seed_is_marked_and_other_seeds_stay_readable() -> None:
    wild = SeedLine("seed 2", [5, 10], [2.0, 1e9], {"run": "run_3"}, diverged=True)
    steady = SeedLine("seed 0", [5, 10, 40], [2.0, 1.5, 1.0], {"run": "run_1"})
    figure = seed_curves([steady, wild], None, "none", "light", x="steps", y="loss", target=None)
    assert figure["layout"]["yaxis"]["autorangeoptions"] == {"clipmax": 2.05}
    mark = figure["data"][-1]
    assert (mark["x"], mark["y"], mark["text"]) == ([10], [2.0], ["seed 2 diverged"])
    assert (mark["textposition"], mark["meta"]) == ("middle right", {"diverged": "run_3"})


def test_axis_has_no_limits_without_divergence() -> None:
    figure = seed_curves(SEEDS, MEAN, "none", "light", x="steps", y="loss", target=None)
    assert "autorangeoptions" not in figure["layout"]["yaxis"]
    assert len(figure["data"]) == 3
