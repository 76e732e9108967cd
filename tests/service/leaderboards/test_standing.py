"""Standing of an entry, from the board's own answer."""

from service.leaderboards.standing import Standing, standing_of
from tests.service.leaderboards.test_verdicts import board, entry

FIRST = entry("layer_norm", 1.0, 1, rank=1)
TIED = [entry("rms_norm", 1.1, 2, rank=2), entry("none", 1.2, 2, rank=3), entry("weight_norm", 1.3, 2, rank=4)]
FEW = entry("batch_norm", 1.25, 2, rank=4, n_seeds=2)
LOST = entry("dynamic_tanh", None, rank=5, n_diverged=5)
OVER = entry("none", 0.5, over_budget=True, changes={"training.max_steps": 9})


def test_entries_of_a_tie_group_share_a_rank_and_name_each_other() -> None:
    found = board(FIRST, *TIED, LOST)
    assert standing_of(found, FIRST) == Standing(1, 1, [])
    assert [standing_of(found, one).rank for one in TIED] == [2, 3, 4]
    assert [standing_of(found, one).shared_rank for one in TIED] == [2, 2, 2]
    assert standing_of(found, TIED[1]).tied_with == ["rms_norm", "weight_norm"]


def test_an_entry_whose_runs_all_diverged_has_no_rank() -> None:
    assert LOST.rank == 5, "though the board puts it last"
    assert standing_of(board(FIRST, LOST), LOST) == Standing(None, None, [])
    assert standing_of(board(LOST), LOST) == Standing(None, None, [])


def test_an_entry_over_the_budget_has_no_rank() -> None:
    assert standing_of(board(FIRST, OVER), OVER) == Standing(None, None, [])


def test_an_entry_of_too_few_seeds_has_its_rank_and_no_ties() -> None:
    found = board(FIRST, *TIED, FEW)
    assert standing_of(found, FEW) == Standing(4, 4, [])
    assert FEW.name not in standing_of(found, TIED[0]).tied_with


def test_a_tuned_entry_is_named_with_what_was_tuned() -> None:
    tuned = entry("none", 1.05, 2, rank=2, fingerprint="f", changes={"training.optimizer.lr": 0.1})
    assert standing_of(board(FIRST, tuned, TIED[0]), TIED[0]).tied_with == ["none (lr 0.1)"]
