"""Example in the description of the API: an experiment of one seed, as this service answered it."""

from datetime import UTC, datetime, timedelta
from typing import Any, cast

from normcore.figures import apply_theme
from normcore.figures.curves import curves
from normcore.figures.seed_curves import SeedLine, seed_curves
from normcore.problem import problem_of
from normcore.spec import TrainingSpec, resolve
from service.experiments import schemas
from service.experiments.certificates import Certificate
from service.experiments.schemas import State

WRITTEN = {"task": {"name": "permuted_digits", "profile": "small"}, "norm": {"method": "layer_norm"}}
EXPERIMENT_ID = "exp_01KAJ3V1Z8Q4N7M2X5C6B9D0EF"
SWEEP_ID = "swp_01KAJ3V1Z8Q4N7M2X5C6B9D0EH"
RUN_ID = "run_01KAJ3V1Z8Q4N7M2X5C6B9D0EG"
FINGERPRINT = resolve(WRITTEN).fingerprint()
CODE: dict[str, Any] = {
    "version": "0.1.0",
    "commit": "3c90448c503e85eee485aa1db346afb71d450b74",
    "dirty": False,
    "parts": {
        "norm": "2a7cb7b63666cc408821940277eddcc5f5314359dc710dd3e04d8c36f28221d2",
        "model": "6e71ddd3255dcd43df80d4d34c13d7c1ec6429028c7f653de6d02c448384c5fe",
        "task": "74b15d18d5c09618bfb8768aa3dee9969f74dbdf40c1b46877c2f3a63d0f5607",
        "optimizer": "bed976a65510be9f9478ae8aee3c8962e5cdbf92f0bf484f4ce49761d93eb9d1",
    },
}
CREATED = datetime(2025, 11, 21, 2, 28, 7, 272000, UTC)

RUN = schemas.RunOut(
    id=RUN_ID,
    experiment_id=EXPERIMENT_ID,
    seed=0,
    state="succeeded",
    attempt=1,
    resumed_from_step=None,
    outcome="reached_target",
    progress=schemas.ProgressOut(step=200, max_steps=200, eta_seconds=None, phase=None),
    result={
        "metric": "accuracy",
        "values": {"accuracy": 0.677},
        "value": 0.677,
        "no_skill": 0.1,
        "valid_value": 0.713,
        "step": 200,
        "steps_to_target": 91.4,
        "seconds_to_target": 5.21,
        "steps_below_target": None,
        "seconds_below_target": None,
        "train_seconds": 10.88,
        "divergence": None,
    },
    device="cpu",
    kernel="fused",
    environment={
        "python": "3.11.7",
        "torch": "2.13.0+cpu",
        "numpy": "2.4.6",
        "normbench": "0.1.0",
        "git": "3c90448c503e85eee485aa1db346afb71d450b74",
        "code": CODE,
        "os": "Linux-6.18.44-x86_64-with-glibc2.36",
        "cpu": "AMD EPYC",
        "host": "node-3",
        "cores": 2,
        "threads": 1,
        "kernels": "x86-64-v4, g++ 12.2.0",
        "gpu": None,
        "cuda": None,
        "driver": None,
        "method": None,
        "data": {"digits": "65e5b4619795efb40c1082f4c350c049e4ad552200d369b6ae99e21eef5e72c5"},
    },
    timing=schemas.TimingOut(
        training=10.88,
        evaluation=0.94,
        data=0.06,
        compile=0.12,
        warm_up=0.05,
        certificate=Certificate(
            contended=False,
            reason=None,
            machine="node-3: AMD EPYC, 1 thread",
            before=0.0203,
            after=0.0206,
            quiet=0.0201,
            kernel_ratio=1.025,
            windows=9,
            slow_share=0.0,
            moved=False,
        ),
    ),
    error=None,
    history=[],
    of_older_code=False,
    created_at=CREATED,
    started_at=CREATED + timedelta(seconds=0.5),
    finished_at=CREATED + timedelta(seconds=12),
)
QUEUED_RUN = schemas.RunOut(
    **schemas.UNKNOWN_YET,
    **RUN.model_dump(include={"id", "experiment_id", "seed", "attempt", "history", "created_at"}),
    state="queued",
    progress=schemas.ProgressOut(step=0, max_steps=200, eta_seconds=None, phase=None),
)
CANCELLED_RUN = QUEUED_RUN.model_copy(update={"state": "cancelled", "finished_at": CREATED + timedelta(seconds=3)})
RETRIED_RUN = QUEUED_RUN.model_copy(update={"attempt": 2})


def experiment(state: State, run: schemas.RunOut) -> schemas.ExperimentOut:
    """Build an experiment with this run."""
    spec = cast(TrainingSpec, resolve(WRITTEN))
    return schemas.ExperimentOut(
        id=EXPERIMENT_ID,
        fingerprint=FINGERPRINT,
        state=state,
        problem=problem_of(spec.task).id,
        budget=spec.budget,
        sweep_id=None,
        spec=spec.model_dump(mode="json"),
        runs=[run],
        created_at=CREATED,
    )


EXPERIMENT = experiment("succeeded", RUN)
SUBMITTED = experiment("queued", QUEUED_RUN)
CANCELLED = experiment("cancelled", CANCELLED_RUN)
RETRIED = experiment("queued", RETRIED_RUN)
RAN_WITH: dict[str, Any] = {
    "code": {"normbench": "0.1.0", "git": "3c90448c503e85eee485aa1db346afb71d450b74", **CODE["parts"]},
    "packages": {"python": "3.11.7", "torch": "2.13.0+cpu", "numpy": "2.4.6"},
    "plug_ins": {},
    "machine": {
        "host": "node-3",
        "os": "Linux-6.18.44-x86_64-with-glibc2.36",
        "cpu": "AMD EPYC",
        "cores": "2",
        "threads": "1",
        "kernels": "x86-64-v4, g++ 12.2.0",
    },
    "data": {"digits": "65e5b4619795efb40c1082f4c350c049e4ad552200d369b6ae99e21eef5e72c5"},
}
REPLAY = schemas.ReplayOut(
    experiment_id=EXPERIMENT_ID,
    fingerprint=FINGERPRINT,
    spec=EXPERIMENT.spec,
    **RAN_WITH,
    runs=[schemas.ReplayRunOut(run_id=RUN_ID, seed=0, state="succeeded", device="cpu", kernel="fused", **RAN_WITH)],
)
SUMMARY = schemas.ExperimentSummary(
    id=EXPERIMENT_ID,
    fingerprint=FINGERPRINT,
    state="succeeded",
    spec=EXPERIMENT.spec,
    runs_by_state={"succeeded": 1},
    n_diverged=0,
    created_at=CREATED,
)
PLAN = schemas.PlanOut(
    spec=EXPERIMENT.spec,
    fingerprint=FINGERPRINT,
    runs=1,
    code=schemas.CodeOut(
        **CODE,
        workers=[schemas.OtherCode(worker="wrk_1", host="node-4", pid=4711, device="cpu", parts=["norm"])],
    ),
    measured_seeds=[0],
    seconds_per_run=10.88,
    total_seconds=10.88,
    total_seconds_range=(10.88, 10.88),
    basis="measured: 1 run of this spec on cpu",
    queue_position=1,
    memory_bytes=135_890_064,
    memory=schemas.MemoryOut(
        weights=38_224, gradients=19_112, optimizer=19_112, backward=1_595_888, data=0, process=134_217_728
    ),
    worker_memory_bytes=16_000_000_000,
    live_workers=3,
    fitting_workers=2,
)
MEASUREMENTS = schemas.MeasurementsOut(
    x="step",
    series={
        "valid.accuracy": schemas.SeriesOut(
            unit="", direction="maximize", points=[(100, 0.57, 5.74), (200, 0.713, 10.81)]
        ),
        "valid.loss": schemas.SeriesOut(
            unit="nats", direction="minimize", points=[(100, 1.297, 5.74), (200, 0.867, 10.81)]
        ),
    },
)
FIGURE = apply_theme(curves({"valid.accuracy": [(100, 0.57), (200, 0.713)]}, f"{RUN_ID}, seed 0"), "light")
SEEDS_FIGURE = seed_curves(
    [SeedLine("seed 0", [100, 200], [0.57, 0.713], {"run": RUN_ID, "series": "valid.accuracy", "attempt": 1})],
    None,
    "layer_norm",
    "light",
    x="training steps",
    y="validation accuracy",
    target=0.7,
    percent=True,
)
ARTIFACTS = schemas.ArtifactList(
    items=[schemas.ArtifactOut(name="model.pt", size=178_944, url=f"/v1/runs/{RUN_ID}/artifacts/model.pt")]
)
