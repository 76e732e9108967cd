"""Cells of a sweep and their results, as the API shows them."""

from collections.abc import Mapping
from typing import Any

import pytest

from service.db import Database
from service.http.answer_cache import AnswerCache
from service.sweeps import queries
from tests.service.sample_runs import MAX_STEPS, begun, claimed, failed, finished, measured, recorded
from tests.service.sweeps.sample_sweeps import LR, METHODS, SPEC, cell, posted, run_all, shown, stored

RATES = [1e-4, 1e-3, 1e-2]
VALUES = {("none", 1e-4): 0.3, ("none", 1e-3): 0.6, ("none", 1e-2): 0.4} | {
    ("layer_norm", 1e-4): 0.1,
    ("layer_norm", 1e-3): 0.2,
    ("layer_norm", 1e-2): 0.9,
}


def worth(spec: Mapping[str, Any], seed: int) -> float:
    return VALUES[spec["norm"]["method"], spec["training"]["optimizer"]["lr"]]


@pytest.fixture
def swept(db: Database) -> str:
    """A sweep of two methods at three rates, all measured."""
    sweep_id = stored(db, posted({**METHODS, LR: RATES}))
    run_all(db, worth)
    return sweep_id


def test_cells_show_the_entries_of_their_board(db: Database, swept: str) -> None:
    sweep = shown(db, swept)
    assert (sweep.state, sweep.n_experiments, sweep.n_runs, sweep.reused_runs) == ("succeeded", 6, 6, 0)
    assert (sweep.progress.done, sweep.progress.total, sweep.progress.eta_seconds) == (6, 6, None)
    shown_values = {
        (one.values["norm.method"], one.values[LR]): one.entry.value.mean
        for one in sweep.cells
        if one.entry is not None and one.entry.value is not None
    }
    assert shown_values == VALUES
    found = cell(db, swept, method="layer_norm", lr=1e-2)
    assert found.entry is not None
    assert (found.entry.rank, found.entry.fingerprint) == (1, found.fingerprint)


def test_the_cached_sweep_is_made_anew_once_a_run_has_ended(db: Database) -> None:
    sweep_id, kept = stored(db, posted({LR: RATES})), AnswerCache()
    for value, best in ((0.3, 0.3), (0.6, 0.6), (0.4, 0.6)):
        lease = claimed(db).lease
        begun(db, lease)
        finished(db, lease, value=value, valid_value=value)
        with db.snapshot() as session:
            looks = [queries.sweep(session, kept, sweep_id) for _ in range(2)]
        assert looks[0] == looks[1]
        assert looks[0].best is not None
        assert looks[0].best.entry is not None
        assert looks[0].best.entry.value is not None
        assert looks[0].best.entry.value.mean == best
        with db.snapshot() as session:
            assert looks[0] == queries.sweep(session, AnswerCache(), sweep_id)


def test_the_best_cell_has_the_best_validation_value(db: Database) -> None:
    sweep_id = stored(db, posted())
    for value, valid in ((0.9, 0.1), (0.2, 0.8)):
        lease = claimed(db).lease
        begun(db, lease)
        finished(db, lease, value=value, valid_value=valid)
    best = shown(db, sweep_id).best
    assert best == cell(db, sweep_id, method="layer_norm")


def test_the_budget_curve_is_the_best_of_k_cells_of_each_method(db: Database, swept: str) -> None:
    curve = shown(db, swept).budget_curve
    assert {method: [point[0] for point in points] for method, points in curve.items()} == {
        "layer_norm": [1, 2, 3],
        "none": [1, 2, 3],
    }
    expected = {method: [point[1] for point in points] for method, points in curve.items()}
    assert expected["none"] == pytest.approx([1.3 / 3, (0.4 + 0.6 + 0.6) / 3, 0.6])
    assert expected["layer_norm"] == pytest.approx([0.4, (0.2 + 0.9 + 0.9) / 3, 0.9])
    assert curve["none"][0][2:] == (0.3, 0.6)


def test_a_sweep_says_where_the_order_of_two_methods_changes(db: Database, swept: str) -> None:
    [flip] = shown(db, swept).budget_flips
    assert (flip.k, flip.better, flip.worse, flip.is_uncertain) == (2, "layer_norm", "none", True)


def test_a_diverged_cell_counts_as_the_level_without_skill(db: Database) -> None:
    sweep_id = stored(db, posted({LR: RATES}))
    run_all(db, lambda spec, seed: None if spec["training"]["optimizer"]["lr"] == 1e-2 else 0.7)
    sweep = shown(db, sweep_id)
    assert sweep.state == "succeeded"
    assert sweep.budget_curve["none"][0][1] == pytest.approx((0.7 + 0.7 + 0.1) / 3)
    assert sweep.best is not None
    assert sweep.best.values[LR] == 1e-4


def test_cells_of_several_boards_do_not_compare(db: Database) -> None:
    sweep_id = stored(db, posted({"task.name": ["permuted_digits", "sequential_digits"]}))
    run_all(db, lambda spec, seed: 0.5)
    sweep = shown(db, sweep_id)
    assert [one.entry is not None for one in sweep.cells] == [True, True]
    assert (sweep.best, sweep.budget_curve, sweep.budget_flips) == (None, {}, [])


def test_analyses_have_no_entries(db: Database) -> None:
    sweep = shown(db, stored(db, posted(spec={"task": {"name": "invariances"}})))
    assert [one.entry for one in sweep.cells] == [None, None]
    assert (sweep.best, sweep.budget_curve) == (None, {})


def test_progress_counts_ended_runs_and_estimates_the_rest_from_running_runs(db: Database) -> None:
    sweep_id = stored(db, posted(spec={**SPEC, "seeds": [0, 1]}))
    assert shown(db, sweep_id).state == "queued"
    failed(db, claimed(db).lease)
    lease = claimed(db).lease
    begun(db, lease)
    recorded(db, lease, measured(10))
    sweep = shown(db, sweep_id)
    assert (sweep.state, sweep.progress.done, sweep.progress.total) == ("running", 1, 4)
    assert sweep.progress.eta_seconds == pytest.approx((MAX_STEPS - 10 + 2 * MAX_STEPS) / 10, abs=0.1)
    assert [one.state for one in sweep.cells] == ["running", "running"]


def test_a_sweep_with_a_failed_run_has_failed_and_its_cells_say_which_run(db: Database) -> None:
    sweep_id = stored(db, posted())
    failed(db, claimed(db).lease)
    run_all(db, lambda spec, seed: 0.5)
    assert shown(db, sweep_id).state == "failed"
    assert [one.state for one in shown(db, sweep_id).cells] == ["failed", "succeeded"]


def test_sweeps_are_listed_newest_first(db: Database) -> None:
    first, second, third = (stored(db, posted(sampler_seed=k)) for k in range(3))
    run_all(db, lambda spec, seed: 0.5)
    with db.snapshot() as session:
        found = queries.sweeps(session, before=third, limit=2)
        assert [sweep.id for sweep in found] == [second, first]
        assert [sweep.state for sweep in found] == ["succeeded", "succeeded"]
        assert (found[0].grid, found[0].sampler_seed, found[0].samples) == (METHODS, 1, None)
        assert queries.sweeps(session, before=first, limit=2) == []
