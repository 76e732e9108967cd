"""Results of a sweep's cells: the best one, the value of a search, and the flips between two methods."""

import pytest

from normcore.spec.metric import ACCURACY, ERROR_RATE
from service.leaderboards.entry import RunResult, pool
from service.leaderboards.row import MeasuredEntry
from service.statistics.best_of import BestOf, Trial
from service.sweeps import findings
from tests.service.leaderboards.test_entry import run


def cell(name: str, *runs: RunResult, method: str = "none") -> MeasuredEntry:
    pooled = pool(runs, [ACCURACY], lambda _: None)
    return MeasuredEntry(
        name, "setting", "permuted_digits", method, 1, {}, ["exp_1"], None, len(runs), 0, runs, [], pooled
    )


def diverged(seed: int, no_skill: float | None = 0.1) -> RunResult:
    return run(seed, None, None, diverged=True, no_skill=no_skill)


def test_the_best_cell_is_the_first_with_the_best_validation_value() -> None:
    cells = [
        cell("a", run(0, 0.9, valid_value=0.4)),
        cell("b", run(0, 0.2, valid_value=0.6)),
        cell("c", run(0, 0.8, valid_value=0.6)),
        cell("d", diverged(0)),
    ]
    assert findings.best(cells, ACCURACY) == "b"
    assert findings.best(cells, ERROR_RATE) == "a", "where less is better"
    assert findings.best([cells[3]], ACCURACY) is None
    assert findings.best([], ACCURACY) is None


def test_a_cell_that_explodes_is_as_good_as_one_that_diverged() -> None:
    """Hand computation: (.8 + .1) / 2 = .45 in validation and in the test, however far the other seed went."""
    exploded = cell("a", run(0, 0.8), run(1, -8.8e18))
    [[trial]] = findings.trials([exploded]).values()
    assert trial.valid == trial.test == pytest.approx(0.45)
    assert findings.best([exploded, cell("b", run(0, 0.3), run(1, 0.4))], ACCURACY) == "a", "not by its explosion"


def test_a_trial_is_chosen_by_validation_and_worth_its_score() -> None:
    cells = [
        cell("a", run(0, 0.5, valid_value=0.6), run(1, 0.7, valid_value=0.8)),
        cell("b", run(0, 0.9, valid_value=0.9), diverged(1)),
        cell("c", diverged(0), diverged(1), method="layer_norm"),
        cell("d", diverged(0, no_skill=None), method="layer_norm"),
    ]
    found = findings.trials(cells)
    assert found == {"none": [Trial(0.7, 0.6), Trial(0.9, 0.5)], "layer_norm": [Trial(None, 0.1)]}


def test_curves_are_grouped_by_method_and_flips_name_the_better_method() -> None:
    of_methods = {
        "steady": [Trial(0.5, 0.5), Trial(0.5, 0.5), Trial(0.5, 0.5), Trial(0.5, 0.5)],
        "lucky": [Trial(0.1, 0.1), Trial(0.1, 0.1), Trial(0.1, 0.1), Trial(0.9, 0.9)],
    }
    curves = findings.budget_curves(of_methods, "maximize")
    assert list(curves) == ["lucky", "steady"]
    assert curves["steady"] == [BestOf(0.5, 0.5, 0.5)] * 4
    assert [round(point.expected, 6) for point in curves["lucky"]] == [0.3, 0.5, 0.7, 0.9]
    [flip] = findings.budget_flips(curves, ACCURACY)
    assert (flip.better, flip.worse, flip.is_uncertain) == ("lucky", "steady", True)
    [flip] = findings.budget_flips(curves, ERROR_RATE)
    assert (flip.better, flip.worse) == ("steady", "lucky")
