"""A run's artifacts under the names that users see.

Files of the run's present attempt keep their names; those of earlier attempts are named with the attempt, as
``1.log.txt``. The model and other outputs are shown only once the run has succeeded, and only those of the attempt that
succeeded.
"""

from collections.abc import Iterable

from service.artifacts import Artifact, is_output
from service.errors import NotFound
from service.experiments.schemas import RunOut


def shown(run: RunOut, stored: Iterable[Artifact]) -> dict[str, Artifact]:
    """The artifacts of a run that users may see, by name."""
    return {
        artifact.name if artifact.attempt == run.attempt else f"{artifact.attempt}.{artifact.name}": artifact
        for artifact in stored
        if not is_output(artifact.name) or (artifact.attempt == run.attempt and run.state == "succeeded")
    }


def find(run: RunOut, stored: Iterable[Artifact], name: str) -> Artifact:
    """Raises:
    NotFound: the run has no such artifact.
    """
    found = shown(run, stored).get(name)
    if found is None:
        raise NotFound(f"run {run.id} has no artifact {name[:130]!r}")
    return found
