"""Importance of a sweep's fields, by a random forest that is asked about cells it has not seen."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

import pytest
from starlette.testclient import TestClient

from service.db import Database
from service.sweeps import importance
from service.sweeps.examples import MEASURED, SWEEP
from service.sweeps.importance import EXPLAINS_NOTHING, FEWEST_CELLS, explain
from service.sweeps.schemas import Importance
from tests.service.sweeps.sample_sweeps import LR, SPEC, posted, run_all, stored

EPS, BATCH = "norm.eps", "training.batch_size"


def explained(n_cells: int, worth: Callable[[float, float, float], float | None]) -> Importance:
    """Importance of two fields of random cells; the third argument of ``worth`` is noise."""
    dice = Random(1)
    values: list[dict[str, Any]] = [{LR: dice.random(), EPS: dice.random()} for _ in range(n_cells)]
    cells = [replace(MEASURED, values=one) for one in values]
    sweep = replace(SWEEP, grid={LR: [], EPS: []}, cells=cells)
    return explain(sweep, [worth(one[LR], one[EPS], dice.gauss(0, 1)) for one in values])


def test_the_field_that_decides_comes_first() -> None:
    found = explained(60, lambda lr, eps, noise: eps + 0.1 * lr + 0.01 * noise)
    assert [one.field for one in found.fields] == [EPS, LR]
    assert found.fields[0].importance > 1 > 0.2 > found.fields[1].importance
    assert found.explained is not None
    assert (found.explained > 0.8, found.n_cells, found.note) == (True, 60, None)


def test_a_forest_that_explains_nothing_says_so() -> None:
    found = explained(60, lambda lr, eps, noise: noise)
    assert found.explained is not None
    assert found.explained < 0
    assert found.note == EXPLAINS_NOTHING


@pytest.mark.parametrize(
    ("n_cells", "worth", "told"),
    [
        (
            FEWEST_CELLS - 1,
            lambda lr, eps, noise: eps,
            "importance needs at least 10 cells with values; this sweep has 9",
        ),
        (20, lambda lr, eps, noise: 0.5, "all cells have the same value"),
        (20, lambda lr, eps, noise: None, "the cells do not compare"),
    ],
)
def test_it_says_why_there_is_no_importance(n_cells: int, worth: Any, told: str) -> None:
    found = explained(n_cells, worth)
    assert (found.explained, found.fields) == (None, [])
    assert told in (found.note or "")


def test_a_server_without_the_library_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importance, "find_spec", lambda name: None)
    assert "pip install 'normbench[server]'" in (explained(20, lambda lr, eps, noise: eps).note or "")


def test_1000_cells_of_20_fields_take_seconds() -> None:
    dice = Random(2)
    fields = [f"norm.field_{k}" for k in range(20)]
    cells = [replace(MEASURED, values={field: dice.random() for field in fields}) for _ in range(1000)]
    found = explain(replace(SWEEP, grid={field: [] for field in fields}, cells=cells), [dice.random() for _ in cells])
    assert (found.n_cells, len(found.fields)) == (1000, 20)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_the_api_answers_it_and_a_diverged_cell_counts_as_no_skill(client: TestClient, db: Database) -> None:
    grid: dict[str, list[Any]] = {LR: [0.001 * k for k in range(1, 7)], BATCH: [8, 16]}
    sweep_id = stored(db, posted(grid, spec={**SPEC, "seeds": [0]}))
    run_all(db, lambda spec, seed: None if (lr := spec["training"]["optimizer"]["lr"]) > 0.0055 else 0.9 - 100 * lr)
    found = client.get(f"/v1/sweeps/{sweep_id}/importance").json()
    assert (found["n_cells"], found["fields"][0]["field"], found["note"]) == (12, LR, None)
    assert found == client.get(f"/v1/sweeps/{sweep_id}/importance").json()
    assert client.get("/v1/sweeps/swp_nothing/importance").status_code == 404
