"""Specs that ask for fused kernels by name. Only workers with fused kernels can train them; if no live worker has fused
kernels, such specs are refused.
"""

from sqlalchemy.orm import Session

from normcore.spec import ExperimentSpec, SpecError, TrainingSpec
from normcore.spec.kernels import why_not_fused
from service.errors import Invalid
from service.fleet import registration


def are_needed_by(spec: ExperimentSpec) -> bool:
    """Tell if only workers with fused kernels can train the runs of the spec."""
    return isinstance(spec, TrainingSpec) and spec.training.kernel == "fused"


def may_train(spec: ExperimentSpec) -> bool:
    """Tell if a worker with fused kernels trains the runs of the spec by them."""
    if not isinstance(spec, TrainingSpec) or spec.training.kernel == "reference":
        return False
    return why_not_fused(spec.model, spec.norm) is None


def check(session: Session, spec: ExperimentSpec, heartbeat_seconds: float) -> None:
    """Refuse a spec that needs fused kernels if no worker has them. A worker that is still compiling its kernels counts
    as having them.

    Raises:
        Invalid: the spec needs fused kernels, and no live worker that takes its runs has them.
    """
    if not are_needed_by(spec):
        return
    fused = {worker.fused for worker in registration.list_live(session, spec.device, heartbeat_seconds)}
    if fused <= {False}:
        whose = "" if spec.device == "auto" else f" for {spec.device}"
        if fused:
            wrong = f"no live worker{whose} has fused kernels; install what a worker's log says is missing, or use auto"
        else:
            wrong = f"no live worker{whose}, so no fused kernels; start a worker first, or use auto"
        raise Invalid([SpecError(("training", "kernel"), wrong, "kernel_unavailable")])
