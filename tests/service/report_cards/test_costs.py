"""Cost of a method on the boards of a database that has measured much."""

import pytest

from service.db import Database
from service.report_cards import queries
from service.report_cards.costs import BoardCost, board_costs, mean_ratio
from tests.service.sample_runs import begun, claimed, finished, submitted, timing_of


def trained(db: Database, method: str, seconds: float, steps: int) -> None:
    for _ in submitted(db, method, seeds=[0, 1, 2]).runs:
        lease = claimed(db).lease
        begun(db, lease)
        finished(
            db,
            lease,
            timing=timing_of(training=100 * seconds),
            train_seconds=100 * seconds,
            steps_to_target=steps,
            seconds_to_target=steps * seconds,
        )


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_time_of_a_step_and_time_to_the_target_are_compared_with_none(db: Database) -> None:
    trained(db, "none", 0.1, 40)
    trained(db, "rms_norm", 0.15, 10)
    with db.snapshot() as session:
        (cost,) = board_costs(session, queries.find_places(session, "rms_norm"))
        assert board_costs(session, queries.find_places(session, "none")) == []
    assert isinstance(cost, BoardCost)
    assert (cost.task, cost.profile, cost.cell, cost.bound) == ("permuted_digits", "smoke", "lstm", None)
    assert cost.step == pytest.approx(1.5)
    assert cost.sooner == pytest.approx(4 / 1.5)


def test_a_mean_over_boards_has_an_interval_from_three_boards_on() -> None:
    assert mean_ratio([]) is None
    two = mean_ratio([1.0, 4.0])
    assert two is not None
    assert two.mean == pytest.approx(2.0)
    assert two.ci95 is None
    three = mean_ratio([1.0, 2.0, 4.0])
    assert three is not None
    assert three.ci95 is not None
    assert three.ci95[0] * three.ci95[1] == pytest.approx(three.mean**2)
