"""Learning rates on a task's page: which one, how sure, and what else to try."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from service.db import Database
from service.leaderboards.examples import LEADERBOARD
from service.leaderboards.queries import BoardRequest, leaderboard, leaderboards
from service.leaderboards.schemas import Entry, Leaderboard
from service.pages.task_answers import RATE, RateChoice, board_answers, choose_rates
from service.statistics.order import RankEstimate
from tests.service.pages.conftest import Demo

ENTRY = LEADERBOARD.entries[0]
USUAL = 0.001


def entry(rate: float, valid: float, tie_group: int = 1, **changes: Any) -> Entry:
    kept = {} if rate == USUAL else {RATE: rate}
    usual: dict[str, Any] = {"method": "rms_norm", "changes": kept, "fingerprint": f"{rate}", "valid_value": valid}
    return replace(ENTRY, **{**usual, "tie_group": tie_group, "too_few_seeds": False, "source": "measured", **changes})


def board(*entries: Entry, **changes: Any) -> Leaderboard:
    return replace(LEADERBOARD, entries=list(entries), **changes)


def chosen(*entries: Entry, **changes: Any) -> RateChoice:
    def compare(fingerprints: Sequence[str]) -> dict[str, RankEstimate]:
        compared = [one for one in entries if one.fingerprint in fingerprints]
        return {one.fingerprint or "": RankEstimate(1, None, one.tie_group) for one in compared}

    (choice,) = choose_rates(board(*entries, **changes), USUAL, compare)
    return choice


def test_the_rate_is_chosen_by_validation_and_ties_are_named() -> None:
    choice = chosen(entry(0.01, 0.7), entry(USUAL, 0.9), entry(0.003, 0.8), entry(1e-4, 0.5, tie_group=2))
    assert (choice.rate, choice.tried, choice.ties) == (0.001, [1e-4, 0.001, 0.003, 0.01], [0.003, 0.01])
    assert choice.sentence == (
        "Learning rate for rms_norm: 0.001, the best of 4 by validation (0.003 and 0.01 are not shown to be worse)."
    )


def test_the_smallest_validation_value_is_best_where_less_is_better() -> None:
    assert chosen(entry(0.01, 0.7), entry(USUAL, 0.9), direction="minimize").rate == 0.01


@pytest.mark.parametrize(("rate", "advice"), [(0.1, "larger"), (1e-5, "smaller")])
def test_a_best_rate_at_the_edge_asks_for_more(rate: float, advice: str) -> None:
    choice = chosen(entry(rate, 0.9), entry(USUAL, 0.5, tie_group=2))
    assert choice.advice.endswith(f"try a {advice} one, too.")
    assert choice.sentence.endswith(choice.advice)


def test_a_rate_that_was_tried_alone_is_no_choice() -> None:
    assert chosen(entry(USUAL, 0.9)).sentence == (
        "Only the learning rate 0.001 was tried with rms_norm; sweep training.optimizer.lr to compare others."
    )


def test_many_ties_are_counted() -> None:
    choice = chosen(*(entry(rate, 1 - rate) for rate in (USUAL, 0.002, 0.003, 0.004, 0.005)))
    assert "(4 others are not shown to be worse)" in choice.sentence


def test_entries_with_too_few_seeds_count_only_if_there_are_no_others() -> None:
    few = entry(0.01, 0.99, too_few_seeds=True)
    assert chosen(few, entry(USUAL, 0.9)).rate == USUAL
    assert chosen(few).rate == 0.01


def test_entries_of_other_optimizers_or_over_the_budget_do_not_count() -> None:
    other = entry(0.5, 0.99, changes={"training.optimizer.name": "adam", RATE: 0.5})
    assert chosen(other, entry(0.1, 0.98, over_budget=True), entry(USUAL, 0.9)).tried == [USUAL]


def test_rates_are_compared_with_each_other_and_not_with_the_whole_board(month: Demo) -> None:
    """Among the 63 entries of the board, 0.001, 0.004 and 0.008 share the tie group of the best rate."""
    db = Database(f"sqlite:///{month.path}")
    with db.snapshot() as session:
        boards = [one for one in leaderboards(session) if one.task == "permuted_digits"]
        (answer,) = board_answers(session, "permuted_digits", boards)
        board = leaderboard(session, BoardRequest("permuted_digits", "small", boards[0].problem.id))
    db.close()
    found = {choice.method: choice for choice in answer.rates}
    assert (found["recurrent_batch_norm"].rate, found["recurrent_batch_norm"].ties) == (0.002, [])
    groups = {entry.changes.get(RATE): entry.tie_group for entry in board.entries if entry.method == "layer_norm"}
    assert groups[0.001] == groups[0.004] == groups[None] == 1
    assert found["layer_norm"].ties == []
