"""Earlier runs that a sweep can reuse: the same spec, seed, version and code, on the same kind of device.

Only runs that have succeeded count. One that is queued or running may still fail, and a sweep does not wait for what
it cannot cancel or retry.
"""

from collections.abc import Collection, Mapping
from itertools import groupby
from typing import Any, NamedTuple, cast

from sqlalchemy import Row, select
from sqlalchemy.orm import Session

from normcore.code_version import CodeVersion, code_version
from normcore.own_code import present_code
from normcore.spec import ExperimentSpec
from normcore.spec.cells import CELLS
from normcore.spec.methods import METHODS
from normcore.spec.models.recurrent import RecurrentModel
from normcore.spec.tasks import BENCHMARKS
from service.experiments.planning import measured_by
from service.experiments.tables import Experiment, Run


class Measured(NamedTuple):
    """A run that counts for a seed."""

    run_id: str
    experiment_id: str


def measured(
    session: Session, specs: Mapping[str, ExperimentSpec], seeds: Collection[int]
) -> dict[tuple[str, int], Measured]:
    """Runs that need not be run again, by fingerprint and seed; of several the first.

    Args:
        specs: by fingerprint; all for the same device.
    """
    runs = session.execute(
        select(Experiment.fingerprint, Run.seed, Run.id, Run.experiment_id, Run.device, Run.environment, Run.code)
        .join(Experiment)
        .where(Experiment.fingerprint.in_(specs), Run.seed.in_(seeds), Run.state == "succeeded")
        .order_by(Run.finished_at, Run.id)
    ).all()
    project = code_version()  # once: it looks at every file of the project
    versions = {run.fingerprint: versions_of(specs[run.fingerprint], project) for run in runs}
    counting = {
        run.id
        for fingerprint, of_spec in groupby(sorted(runs, key=_fingerprint), key=_fingerprint)
        for run in measured_by(present_code(specs[fingerprint]), list(of_spec))
    }
    found: dict[tuple[str, int], Measured] = {}
    for run in runs:
        wanted = specs[run.fingerprint].device
        kind = (run.device or "").partition(":")[0]
        had = {name: (run.environment or {}).get(name) for name in versions[run.fingerprint]}
        if run.id in counting and had == versions[run.fingerprint] and wanted in ("auto", kind):
            found.setdefault((run.fingerprint, run.seed), Measured(run.id, run.experiment_id))
    return found


def _fingerprint(run: Row[Any]) -> str:
    return cast(str, run.fingerprint)


def versions_of(spec: ExperimentSpec, project: CodeVersion) -> dict[str, Any]:
    """Versions of the project and of plug-ins, as the environment of a run tells them."""
    versions: dict[str, Any] = {
        "normbench": project.version,
        "git": project.git,
        "method": spec.norm and METHODS.origin(spec.norm.method),
    }
    if spec.task.name in BENCHMARKS:
        versions["task"] = BENCHMARKS.origin(spec.task.name)
        versions["cell"] = CELLS.origin(spec.model.cell) if isinstance(spec.model, RecurrentModel) else None
    return versions
