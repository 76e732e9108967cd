"""Recipe that runs an experiment again and gets the same numbers."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy.orm import Session

from service.experiments import queries, schemas

CODE = ("normbench", "git")
PACKAGES = ("python", "torch", "numpy", "cuda")
PLUG_INS = ("method", "task", "cell")
MACHINE = ("host", "os", "cpu", "cores", "threads", "kernels", "gpu", "driver")


def replay(session: Session, experiment_id: str) -> schemas.ReplayOut:
    """Build the recipe: the spec, and for each run its code, packages, machine and data. The recipe of the whole
    experiment names the code, packages, machine and data of the first run that has started.

    Raises:
        NotFound: there is no such experiment.
    """
    experiment = queries.experiment(session, experiment_id)
    environments = [run.environment for run in experiment.runs if run.environment]
    first = environments[0] if environments else {}
    return schemas.ReplayOut(
        experiment_id=experiment.id,
        fingerprint=experiment.fingerprint,
        spec=experiment.spec,
        **_group_fields(first),
        data=first.get("data", {}),
        runs=[
            schemas.ReplayRunOut(
                run_id=run.id,
                seed=run.seed,
                state=run.state,
                device=run.device,
                kernel=run.kernel,
                **_group_fields(run.environment or {}),
                data=(run.environment or {}).get("data", {}),
            )
            for run in experiment.runs
        ],
    )


def _group_fields(environment: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """Group the fields of an environment by what they describe. Fields that do not apply are left out."""
    kinds = {"code": CODE, "packages": PACKAGES, "plug_ins": PLUG_INS, "machine": MACHINE}
    found = {
        kind: {name: str(environment[name]) for name in names if environment.get(name) is not None}
        for kind, names in kinds.items()
    }
    parts = (environment.get("code") or {}).get("parts", {})
    found["code"] |= {name: own for name, own in parts.items() if own is not None}
    return found
