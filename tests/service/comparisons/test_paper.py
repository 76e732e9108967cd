"""A comparison on paper has the numbers of the page."""

from typing import Any

from starlette.testclient import TestClient

from service.db import Database
from tests.service.comparisons.test_routes import ACCURACIES, trained
from tests.service.paper.markdown_tables import SQLITE, on_paper, rows_of


@SQLITE
def test_a_comparison_has_differences_and_what_is_better_in_bold(client: TestClient, db: Database) -> None:
    none = trained(db, "none", [0.70, 0.72, 0.71, 0.73, 0.74], [20, 22, 24, 26, 28])
    tuned = {"optimizer": {"lr": 0.004}}
    norm = trained(db, "layer_norm", [*ACCURACIES], [10, 11, 12, 13, 14], training=tuned)
    asked: Any = {"fingerprint": [none, norm]}
    text = on_paper(client, "/v1/comparisons", **asked)
    head, first, second = rows_of(text)
    assert head[:4] == ["Entry", "Test accuracy (%)", "n", "Difference (points)"]
    assert head[4:] == ["95% interval", "p", "Steps", "Seconds"]
    assert first == ["none", "72.00", "5", "–", "–", "–", "–", "–"]
    assert second == [
        "layer_norm (lr 0.004)",
        "**82.00**",
        "5",
        "+10.00",
        "+9.12 – +10.88",
        r"\<0.001",
        "×2.00",
        "×2.00",
    ]
    assert text.startswith("Comparison with none on permuted_digits (smoke). Mean over n = 5 seeds.")
    assert " Steps and Seconds: speed-ups to " in text
    latex = on_paper(client, "/v1/comparisons", "latex", **asked)
    assert r"layer\_norm (lr 0.004) & \textbf{82.00} & 5 & +10.00 & +9.12 -- +10.88 & $<$0.001 &" in latex


@SQLITE
def test_a_worse_entry_is_not_in_bold(client: TestClient, db: Database) -> None:
    none = trained(db, "none", [0.80, 0.82, 0.81, 0.83, 0.84], [None] * 5)
    norm = trained(db, "layer_norm", [0.70, 0.71, 0.72, 0.71, None], [None] * 5)
    text = on_paper(client, "/v1/comparisons", fingerprint=[none, norm])
    head, _, worse = rows_of(text)
    assert "Steps" not in head
    assert "speed-ups" not in text, "the caption names no column that the table lacks"
    assert worse[:3] == ["layer_norm", "71.00", "5 (1 diverged)"]
    assert "**" not in text
