"""A sweep on paper: its cells by validation value, the best in bold."""

from typing import Any

from starlette.testclient import TestClient

from service.db import Database
from tests.service.paper.markdown_tables import SQLITE, on_paper, rows_of
from tests.service.sweeps.sample_sweeps import LR, posted, run_all, stored

GRID: dict[str, list[Any]] = {"norm.method": ["none", "layer_norm"], LR: [1e-3, 2e-3]}
SPEC = {"task": {"name": "permuted_digits", "profile": "smoke"}, "seeds": [0, 1]}


@SQLITE
def test_cells_stand_best_first_and_the_best_is_bold(client: TestClient, db: Database) -> None:
    sweep_id = stored(db, posted(GRID, spec=SPEC))
    run_all(db, lambda spec, seed: _worth(spec) + seed / 100)
    text = on_paper(client, f"/v1/sweeps/{sweep_id}")
    head, *rows = rows_of(text)
    assert head == ["method", "lr", "Validation accuracy (%)", "Test accuracy (%)", "95% interval", "n"]
    assert rows[0] == ["layer_norm", "0.002", "40.50", "**40.50**", "29.90 – 51.10", "2"]
    assert [row[:3] for row in rows[1:]] == [
        ["none", "0.002", "20.50"],
        ["layer_norm", "0.001", "20.50"],
        ["none", "0.001", "10.50"],
    ]
    assert text.count("**") == 2
    assert text.startswith("Sweep over method and lr on permuted_digits (smoke). Mean over n = 2 seeds")


def _worth(spec: Any) -> float:
    doubled = 2 if spec["norm"]["method"] == "layer_norm" else 1
    return float(spec["training"]["optimizer"]["lr"] * 100 * doubled)


@SQLITE
def test_cells_without_results_have_dashes_and_diverged_cells_say_so(client: TestClient, db: Database) -> None:
    sweep_id = stored(db, posted({LR: [1e-3, 2e-3]}, spec=SPEC))
    assert rows_of(on_paper(client, f"/v1/sweeps/{sweep_id}")) == [["lr"], ["0.001"], ["0.002"]]
    run_all(db, lambda spec, seed: None if spec["training"]["optimizer"]["lr"] == 2e-3 else 0.5 + seed / 10)
    best, lost = rows_of(on_paper(client, f"/v1/sweeps/{sweep_id}"))[1:]
    assert (best[0], best[2]) == ("0.001", "**55.00**")
    assert lost == ["0.002", "–", "diverged", "–", "2 (2 diverged)"]
    assert r"0.001 & 55.00 & \textbf{55.00}" in on_paper(client, f"/v1/sweeps/{sweep_id}", "latex")
