"""Artifacts of a run under the names that users see.

Files of the run's present attempt keep their names. Names of files of earlier attempts begin with the attempt, as in
``1.log.txt``. The model and other outputs are shown only if the run has succeeded, and only from the attempt that
succeeded.
"""

from collections.abc import Iterable

from service.artifacts import Artifact, is_output
from service.errors import NotFound
from service.experiments.schemas import RunOut


def choose_visible_artifacts(run: RunOut, stored: Iterable[Artifact]) -> dict[str, Artifact]:
    """Artifacts of a run that users may see, by the name that users see."""
    return {
        artifact.name if artifact.attempt == run.attempt else f"{artifact.attempt}.{artifact.name}": artifact
        for artifact in stored
        if not is_output(artifact.name) or (artifact.attempt == run.attempt and run.state == "succeeded")
    }


def find(run: RunOut, stored: Iterable[Artifact], name: str) -> Artifact:
    """Find an artifact of a run by the name that users see.

    Raises:
        NotFound: the run has no such artifact.
    """
    found = choose_visible_artifacts(run, stored).get(name)
    if found is None:
        raise NotFound(f"run {run.id} has no artifact {name[:130]!r}")
    return found
