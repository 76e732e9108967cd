"""A run's artifacts under the names by which users know them.

Those of the run's present attempt go by their own names, earlier attempts' as ``1.log.txt``. A model is a run's only
once the run has succeeded, and only if the attempt that succeeded wrote it.
"""

from collections.abc import Iterable

from service.artifacts import Artifact
from service.errors import NotFound
from service.experiments.schemas import RunOut

MODEL = "model.pt"


def shown(run: RunOut, stored: Iterable[Artifact]) -> dict[str, Artifact]:
    """The artifacts of a run that there are to see, by name."""
    return {
        artifact.name if artifact.attempt == run.attempt else f"{artifact.attempt}.{artifact.name}": artifact
        for artifact in stored
        if artifact.name != MODEL or (artifact.attempt == run.attempt and run.state == "succeeded")
    }


def find(run: RunOut, stored: Iterable[Artifact], name: str) -> Artifact:
    """Raises:
    NotFound: the run has no such artifact.
    """
    found = shown(run, stored).get(name)
    if found is None:
        raise NotFound(f"run {run.id} has no artifact {name[:130]!r}")
    return found
