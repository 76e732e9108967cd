"""Example for the API's description: a submitted result of three seeds, which this service has not measured yet."""

from typing import Any

from service.experiments.examples import CREATED, EXPERIMENT, FINGERPRINT
from service.leaderboards.entry import Estimate
from service.leaderboards.submitted_results.schemas import Provenance, ResultOut, SeedValue

RESULT_ID = "res_01KAJ3V1Z8Q4N7M2X5C6B9D0EH"
VALUES = {0: 0.67, 1: 0.69, 2: 0.68}
PROVENANCE = Provenance(source="https://example.org/log", code="3c90448", hardware="a laptop", note="With torch 2.9.")
WRITTEN: dict[str, Any] = {
    "task": {"name": "permuted_digits", "profile": "small"},
    "norm": {"method": "layer_norm"},
    "values": [{"seed": seed, "value": value} for seed, value in VALUES.items()],
    "provenance": PROVENANCE.model_dump(),
}
RESULT = ResultOut(
    id=RESULT_ID,
    fingerprint=FINGERPRINT,
    state="claimed",
    problem=EXPERIMENT.problem or "",
    budget=EXPERIMENT.budget or 0,
    metric="accuracy",
    spec={**EXPERIMENT.spec, "seeds": list(VALUES)},
    values=[SeedValue(seed=seed, value=value) for seed, value in VALUES.items()],
    value=Estimate(0.68, 0.01, (0.6474216, 0.7125784), 3),
    fresh_seeds=[],
    difference=None,
    provenance=PROVENANCE,
    created_at=CREATED,
    withdrawn_at=None,
)
