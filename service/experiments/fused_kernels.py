"""Specs that ask for fused kernels by name: who trains them must have some; while nobody has, they are refused."""

from sqlalchemy.orm import Session

from normcore.spec import ExperimentSpec, SpecError, TrainingSpec
from service.errors import Invalid
from service.fleet import registration


def needed_by(spec: ExperimentSpec) -> bool:
    """Tell if only workers with fused kernels can train the runs of the spec."""
    return isinstance(spec, TrainingSpec) and spec.training.kernel == "fused"


def check(session: Session, spec: ExperimentSpec, heartbeat_seconds: float) -> None:
    """A worker that is still compiling counts as one that has some.

    Raises:
        Invalid: fused kernels are needed, and no live worker that takes the runs has some.
    """
    if not needed_by(spec):
        return
    fused = registration.fused_among_live(session, spec.device, heartbeat_seconds)
    if fused <= {False}:
        whose = "" if spec.device == "auto" else f" for {spec.device}"
        if fused:
            wrong = f"no live worker{whose} has fused kernels; mend what a worker's log says is missing, or use auto"
        else:
            wrong = f"no live worker{whose}, so none has fused kernels; start one first, or use auto"
        raise Invalid([SpecError(("training", "kernel"), wrong, "kernel_unavailable")])
