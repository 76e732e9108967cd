"""Verdict of a sweep: which cells tie for first, and which one to take."""

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from service.db import Database
from service.leaderboards.schemas import Verdict
from tests.service.sweeps.sample_sweeps import LR, SPEC, posted, run_all, shown, stored

Worth = Callable[[float, int], float | None]
SEEDS = [0, 1, 2, 3]


def verdict_of(db: Database, worth: Worth, rates: list[float], seeds: list[int] = SEEDS) -> Verdict:
    """Verdict on a sweep over learning rates; ``worth`` gives the value of a rate and a seed."""
    sweep_id = stored(db, posted({LR: rates}, spec={**SPEC, "seeds": seeds}))
    run_all(db, lambda spec, seed: worth(spec["training"]["optimizer"]["lr"], seed))
    return shown(db, sweep_id).verdict


def noise(lr: float, seed: int) -> float:
    """Noise with a mean of 0.005 over four seeds; it goes another way for every other rate."""
    return 0.01 * ((seed // (1 + round(lr * 10) % 2)) % 2)


def test_a_cell_that_is_surely_better_is_first(db: Database) -> None:
    found = verdict_of(db, lambda lr, seed: lr + noise(lr, seed), [0.2, 0.5])
    assert found.claim == "lr 0.5 is first, and nothing ties with it:"
    assert found.detail == "50.50% test accuracy, 95% interval 49.38 – 51.62."


def test_cells_that_tie_are_named_and_one_of_them_is_recommended(db: Database) -> None:
    found = verdict_of(db, lambda lr, seed: 0.5 + lr / 1000 + noise(lr, seed), [0.1, 0.2, 0.9])
    assert found.claim == "lr 0.9, lr 0.2 and lr 0.1 tie for first:"
    told = "50.59% test accuracy best, 50.51% last of them. Take lr 0.9, the best by validation."
    assert found.detail == told, "the test value of the best is told once"


def test_many_cells_that_tie_are_counted(db: Database) -> None:
    found = verdict_of(
        db, lambda lr, seed: (0.1 if lr == 0.5 else 0.6) + 2 * noise(lr, seed), [0.1, 0.2, 0.3, 0.4, 0.5]
    )
    assert found.claim == "4 of 5 cells tie for first:"


def test_a_cell_with_diverged_seeds_says_so(db: Database) -> None:
    found = verdict_of(db, lambda lr, seed: None if (lr, seed) == (0.5, 0) else lr + noise(lr, seed), [0.2, 0.5])
    assert "1 of 4 seeds diverged" in found.detail


def test_few_seeds_rank_nothing(db: Database) -> None:
    found = verdict_of(db, lambda lr, seed: lr, [0.2, 0.5], [0, 1])
    assert found.claim == "Too few seeds to say which cell is best:"
    told = "lr 0.5 has the best validation value and 50.00% test accuracy, 95% interval 49.83 – 50.17, of 2 seeds."
    assert found.detail.startswith(told)


@pytest.mark.parametrize(
    ("grid", "worth", "told"),
    [
        ({"training.max_steps": [30, 40]}, None, "All cells diverged, so no cell is the best."),
        (
            {"training.max_steps": [50, 60]},
            0.5,
            "All cells diverged or are over the budget of their board, so no cell is the best.",
        ),
        (
            {"task.permutation_seed": [1, 2]},
            0.5,
            "The cells are on several boards, so their values cannot be compared.",
        ),
    ],
)
def test_it_says_why_there_is_no_best_cell(
    db: Database, grid: Mapping[str, Any], worth: float | None, told: str
) -> None:
    sweep_id = stored(db, posted(grid))
    run_all(db, lambda _spec, _seed: worth)
    assert shown(db, sweep_id).verdict == Verdict(told, "")


def test_cells_are_ranked_among_themselves(db: Database) -> None:
    """Another entry of the same board is better than all cells, and changes no rank."""
    stored(db, posted({LR: [0.95]}, spec={**SPEC, "seeds": SEEDS}))
    sweep_id = stored(db, posted({LR: [0.2, 0.5]}, spec={**SPEC, "seeds": SEEDS}))
    run_all(db, lambda spec, seed: (lr := spec["training"]["optimizer"]["lr"]) + noise(lr, seed))
    cells = shown(db, sweep_id).cells
    assert [(cell.rank, cell.rank_ci, cell.tie_group) for cell in cells] == [(2, (2, 2), 2), (1, (1, 1), 1)]
    assert [cell.entry and cell.entry.rank for cell in cells] == [3, 2]


def test_the_verdict_of_a_running_sweep_is_of_so_far(db: Database) -> None:
    sweep_id = stored(db, posted({LR: [0.2, 0.5]}))
    assert shown(db, sweep_id).verdict == Verdict("No cell has a result yet.", "")
