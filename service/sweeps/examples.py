"""Example of a sweep for the API's description: two cells, of which one is measured."""

from typing import Any

from normcore.spec import resolve
from service.experiments.examples import CREATED, EXPERIMENT_ID, SWEEP_ID
from service.leaderboards.examples import LAYER_NORM
from service.sweeps import schemas
from service.sweeps.verdict import verdict

GRID: dict[str, list[Any]] = {"norm.method": ["layer_norm", "none"]}
SPEC: dict[str, Any] = {"task": {"name": "permuted_digits", "profile": "small"}}
WRITTEN: dict[str, Any] = {"spec": SPEC, "grid": GRID}
RANDOM: dict[str, Any] = {
    **WRITTEN,
    "random": {"training.optimizer.lr": {"log_uniform": [1e-4, 1e-2]}},
    "samples": 20,
}
NONE = resolve({**SPEC, "norm": {"method": "none"}}).fingerprint()
AS_POSTED: dict[str, Any] = {
    "id": SWEEP_ID,
    "tasks": [schemas.SweptTask("permuted_digits", "small")],
    "n_experiments": 2,
    "n_runs": 2,
    "reused_runs": 0,
    "n_diverged": 0,
    "spec": SPEC,
    "grid": GRID,
    "random": {},
    "samples": None,
    "sampler_seed": 0,
    "reuse": True,
    "adaptive": False,
    "created_at": CREATED,
}
MEASURED = schemas.SweepCell(
    values={"norm.method": "layer_norm"},
    experiment_id=EXPERIMENT_ID,
    fingerprint=LAYER_NORM.fingerprint or "",
    state="succeeded",
    seeds=[0],
    reused_runs=0,
    entry=LAYER_NORM,
    rank=1,
    rank_ci=(1, 1),
    tie_group=1,
)
RUNNING = schemas.SweepCell(
    values={"norm.method": "none"},
    experiment_id="exp_01KAJ3V1Z8Q4N7M2X5C6B9D0EJ",
    fingerprint=NONE,
    state="running",
    seeds=[0],
    reused_runs=0,
    entry=None,
    rank=None,
    rank_ci=None,
    tie_group=None,
)
PROGRESS = schemas.SweepProgress(done=1, total=2, eta_seconds=6.5)
SUMMARY = schemas.SweepSummary(**AS_POSTED, state="running", progress=PROGRESS)
SWEEP = schemas.Sweep(
    **AS_POSTED,
    state="running",
    progress=PROGRESS,
    metric="accuracy",
    unit="",
    direction="maximize",
    cells=[MEASURED, RUNNING],
    best=MEASURED,
    budget_curve={"layer_norm": [(1, 0.677, 0.677, 0.677)]},
    budget_flips=[],
    verdict=schemas.NO_VERDICT,
)
SWEEP.verdict = verdict(SWEEP)
IMPORTANCE = schemas.Importance(
    n_cells=36,
    explained=0.81,
    fields=[schemas.FieldImportance("training.optimizer.lr", 1.32), schemas.FieldImportance("norm.gain_init", 0.21)],
    note=None,
)
PLAN = schemas.SweepPlan(
    n_experiments=2,
    n_runs=2,
    most_runs=2,
    reused_runs=1,
    total_seconds=10.7,
    basis="measured: 4 runs of permuted_digits, small, with this model on cpu, by steps",
    queue_position=1,
    memory_bytes=1_400_000,
    worker_memory_bytes=16_000_000_000,
    live_workers=3,
    fitting_workers=3,
    cells=[
        schemas.PlannedCell(MEASURED.values, MEASURED.fingerprint, [], 10.88),
        schemas.PlannedCell(RUNNING.values, RUNNING.fingerprint, [0], 10.7),
    ],
)
