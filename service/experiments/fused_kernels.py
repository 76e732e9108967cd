"""Specs that ask for fused kernels by name: who trains them must have some, and where nobody has, they are refused."""

from sqlalchemy.orm import Session

from normcore.spec import ExperimentSpec, SpecError, TrainingSpec
from service.errors import Invalid
from service.fleet import registration


def needed_by(spec: ExperimentSpec) -> bool:
    """Whether its runs can be trained by workers with fused kernels alone."""
    return isinstance(spec, TrainingSpec) and spec.training.kernel == "fused"


def check(session: Session, spec: ExperimentSpec, heartbeat_seconds: float) -> None:
    """Without a live worker for its device a spec waits, as one for any other device would.

    Raises:
        Invalid: live workers would take the runs if they had fused kernels, and none has.
    """
    if needed_by(spec) and registration.none_is_fused(session, spec.device, heartbeat_seconds):
        whose = "" if spec.device == "auto" else f" for {spec.device}"
        wrong = f"no live worker{whose} has fused kernels; use auto, or mend what a worker's log says is missing"
        raise Invalid([SpecError(("training", "kernel"), wrong, "kernel_unavailable")])
