"""Earlier runs that a sweep can reuse: the same spec, seed and code, on the same kind of device.

Only runs that have succeeded count. A run that is queued or running may still fail, and a sweep does not wait for
runs that it cannot cancel or retry.
"""

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from sqlalchemy import Row, select
from sqlalchemy.orm import Session

from normcore.code_version import CodeVersion, code_version
from normcore.own_code import present_code
from normcore.spec import ExperimentSpec
from normcore.spec.cells import CELLS
from normcore.spec.methods import METHODS
from normcore.spec.models.recurrent import RecurrentModel
from normcore.spec.tasks import BENCHMARKS
from service.experiments import codes
from service.experiments.tables import HAS_SUCCEEDED, Experiment, Run


class EarlierRun(NamedTuple):
    """An earlier run that a sweep can reuse for a seed."""

    run_id: str
    experiment_id: str


def find_earlier_runs(
    session: Session, specs: Mapping[str, ExperimentSpec], seeds: Collection[int]
) -> dict[tuple[str, int], EarlierRun]:
    """Find earlier runs that a sweep can reuse, by fingerprint and seed. Of several runs the first is taken.

    Args:
        specs: specs by fingerprint; all specs are for the same device.
        seeds: seeds that are wanted.
    """
    columns = (Experiment.fingerprint, Run.seed, Run.experiment_id, Run.device, Run.environment, *codes.OF_CODE)
    runs = session.execute(
        select(*columns)
        .join(Experiment)
        .where(Experiment.fingerprint.in_(specs), HAS_SUCCEEDED)
        .order_by(Run.finished_at, Run.id)
    ).all()
    of_specs: dict[str, list[Row[Any]]] = {}
    for run in runs:
        of_specs.setdefault(run.fingerprint, []).append(run)
    project = code_version()  # once: it looks at every file of the project
    found: dict[tuple[str, int], EarlierRun] = {}
    for fingerprint, of_spec in of_specs.items():
        spec = specs[fingerprint]
        for run in codes.choose_reusable_runs(present_code(spec), of_spec):
            kind = (run.device or "").partition(":")[0]
            if (
                run.seed in seeds
                and spec.device in ("auto", kind)
                and (run.code is not None or _is_of(run, spec, project))
            ):
                found.setdefault((fingerprint, run.seed), EarlierRun(run.id, run.experiment_id))
    return found


def _is_of(run: Row[Any], spec: ExperimentSpec, project: CodeVersion) -> bool:
    """Tell if a run without recorded code of its spec's parts has the versions of this project and its plug-ins."""
    versions = versions_of(spec, project)
    return {name: (run.environment or {}).get(name) for name in versions} == versions


def versions_of(spec: ExperimentSpec, project: CodeVersion) -> dict[str, Any]:
    """Versions of the project and of plug-ins, in the form in which a run's environment records them."""
    versions: dict[str, Any] = {
        "normbench": project.version,
        "git": project.git,
        "method": spec.norm and METHODS.origin(spec.norm.method),
    }
    if spec.task.name in BENCHMARKS:
        versions["task"] = BENCHMARKS.origin(spec.task.name)
        versions["cell"] = CELLS.origin(spec.model.cell) if isinstance(spec.model, RecurrentModel) else None
    return versions
