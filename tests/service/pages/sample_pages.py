"""Content for the pages of methods and sweeps: analyses that have ended, sweeps that are done or under way.

``python -P -m tests.service.pages.sample_pages`` adds them to the database of the settings, to look at.
"""

import math
from collections.abc import Mapping
from typing import Any

from normcore.events import Analysed, Finding, Measured, Started
from service import results
from service.db import Database
from service.experiments import lifecycle
from tests.service.sample_runs import claimed, recorded, submitted_analysis
from tests.service.sweeps.sample_sweeps import run_all, stored

SMOKE = {"task": {"name": "permuted_digits", "profile": "smoke"}}
LR, GAIN = "training.optimizer.lr", "norm.gain_init"
TABLE_1 = (
    ("weight_matrix_rescaling", 1.2e-15, "invariant", "invariant"),
    ("weight_matrix_recentering", 3.1e-15, "invariant", "invariant"),
    ("weight_vector_rescaling", 0.42, "not invariant", "not invariant"),
    ("dataset_rescaling", 8.0e-16, "invariant", "invariant"),
    ("dataset_recentering", 0.31, "not invariant", "not invariant"),
    ("single_case_rescaling", 0.2, "not invariant", "invariant"),
)


def card(db: Database, method: str = "layer_norm", cell: str = "lstm") -> None:
    """A report card that is measured in part: invariances, and gradients and cost in one cell."""
    norm = {"method": method}
    model = {"cell": cell}
    _analysed(db, {"task": {"name": "invariances"}, "norm": norm}, *map(_invariance, TABLE_1))
    cost = [("ratio", 1.46), ("ratio.low", 1.41), ("ratio.high", 1.52), ("memory_ratio", 2.16)]
    found = [Finding(name, value, "time of a step with it over one without") for name, value in cost]
    _analysed(db, {"task": {"name": "step_cost"}, "model": model, "norm": norm}, *found)
    curves = {0.1: 0.999, 0.6: 0.94, 1.0: 0.85}
    _analysed(
        db,
        {"task": {"name": "gradient_flow"}, "model": model, "norm": norm},
        *(_gradient(gain, rate) for gain, rate in curves.items()),
        curves={f"gradient_norm gain={gain:g}": rate for gain, rate in curves.items()},
    )


def _invariance(row: tuple[str, float, str, str]) -> Finding:
    name, value, verdict, claim = row
    finding = Finding(name, value, "largest relative deviation of the output", verdict)
    return finding.against(claim, verdict == claim, "LN, Table 1")


def _gradient(gain: float, rate: float) -> Finding:
    lost, parameters = -63 * math.log10(rate), {"gain": gain}
    verdict = "reaches back" if lost < 1 else "fades"
    return Finding(f"gradient_norm gain={gain:g}", lost, "decades lost on the way back", verdict, parameters=parameters)


def _analysed(db: Database, spec: Mapping[str, Any], *findings: Finding, curves: Mapping[str, float] = {}) -> None:
    submitted_analysis(db, {**spec, "priority": 9})
    lease = claimed(db).lease
    with db.transaction() as session:
        lifecycle.start(session, lease, Started(0, 3, "reference", 0, {}), device="cpu", resumed_from=None)
    if curves:
        steps = (Measured(k, 0.1, {name: rate ** (63 - k) for name, rate in curves.items()}) for k in range(64))
        recorded(db, lease, *steps)
    with db.transaction() as session:
        results.finish_analysis(session, lease, Analysed(findings, 1.5))


def sweep_of_two_axes(db: Database) -> str:
    """A sweep that has ended; two of its cells have diverged in all seeds."""
    spec = {**SMOKE, "norm": {"method": "recurrent_batch_norm"}, "seeds": [0, 1, 2]}
    grid = {GAIN: [0.1, 0.3, 1.0], LR: [1e-4, 1e-3, 1e-2, 1e-1]}
    sweep_id = stored(db, {"spec": spec, "grid": grid})

    def worth(spec: Mapping[str, Any], seed: int) -> float | None:
        lr: float = spec["training"]["optimizer"]["lr"]
        gain: float = spec["norm"]["gain_init"]
        if lr == 0.1 and gain > 0.1:
            return None
        return 0.9 - 0.12 * (math.log10(lr) + 2.6) ** 2 - 0.15 * gain + 0.004 * seed

    run_all(db, worth)
    return sweep_id


def sweep_of_methods(db: Database) -> str:
    """A sweep in which one method is better when many cells are tried, and the other when few are."""
    rates = [3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1]
    sweep_id = stored(db, {"spec": SMOKE, "grid": {"norm.method": ["layer_norm", "none"], LR: rates}})

    def worth(spec: Mapping[str, Any], seed: int) -> float | None:
        place = rates.index(spec["training"]["optimizer"]["lr"])
        return 0.7 + 0.01 * place if spec["norm"]["method"] == "layer_norm" else 0.4 + 0.08 * place

    run_all(db, worth)
    return sweep_id


def sweep_of_three_fields(db: Database) -> str:
    """A sweep of 36 cells that has ended, each with three seeds."""
    spec = {**SMOKE, "norm": {"method": "recurrent_batch_norm"}, "seeds": [0, 1, 2]}
    grid = {"training.batch_size": [8, 16, 24], GAIN: [0.1, 0.3, 0.9], LR: [1e-4, 1e-3, 1e-2, 1e-1]}
    sweep_id = stored(db, {"spec": spec, "grid": grid})

    def worth(spec: Mapping[str, Any], seed: int) -> float:
        training = spec["training"]
        of_batch = {8: 0.02, 16: 0.01, 24: 0.0}[training["batch_size"]]
        of_gain = {0.1: 0.05, 0.3: 0.0, 0.9: -0.1}[spec["norm"]["gain_init"]]
        of_rate = {1e-4: -0.1, 1e-3: 0.1, 1e-2: 0.0, 1e-1: -0.2}[training["optimizer"]["lr"]]
        return 0.69 + of_batch + of_gain + of_rate + 0.001 * seed

    run_all(db, worth)
    return sweep_id


def sweep_under_way(db: Database) -> str:
    """A sweep of one axis in which no run has begun."""
    return stored(db, {"spec": SMOKE, "grid": {"training.batch_size": [16, 32, 64]}})


if __name__ == "__main__":
    from service.settings import Settings, read_settings

    database = Database(read_settings(Settings).database_url)
    for fill in (card, sweep_of_two_axes, sweep_of_methods, sweep_of_three_fields, sweep_under_way):
        print(fill.__name__, fill(database))
    database.close()
