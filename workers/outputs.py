"""Outputs of a run in the artifact store: its learning curves, the model, and other artifacts of the task.

The outputs are stored before the run's end is written. If another attempt has taken over the run by then, these outputs
do not count and are removed.
"""

from collections.abc import Callable, Iterator, Mapping

from normcore.events import Finished
from normcore.figures import Figure, as_json
from service.artifacts import CHECKPOINT, CURVES, MODEL, NAME, Artifacts, is_output


def of(event: Finished) -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Yield names of a training's outputs, with functions that give their contents. The learning curves are not among
    them.

    Raises:
        ValueError: the task gave an artifact a name that is not allowed.
    """
    _check(event.artifacts)
    yield MODEL, event.model
    yield from event.artifacts.items()


def store_curves(store: Artifacts, run_id: str, attempt: int, curves: Figure) -> None:
    """Store the learning curves. The worker does it, because the training process does not know what earlier attempts
    measured.

    Raises:
        OSError: the store does not take the curves; some file systems raise errors of their own.
    """
    store.write(run_id, attempt, CURVES, as_json(curves))


def settle(store: Artifacts, run_id: str, attempt: int) -> None:
    """Clean up after the attempt with which the run succeeded: remove the outputs of other attempts, and all
    checkpoints.
    """
    for artifact in store.list(run_id):
        is_other_output = is_output(artifact.name) and artifact.attempt != attempt
        if CHECKPOINT.fullmatch(artifact.name) or is_other_output:
            store.remove(run_id, artifact.attempt, artifact.name)


def discard(store: Artifacts, run_id: str, attempt: int) -> None:
    """Remove the outputs of an attempt that lost the run to another attempt."""
    for artifact in store.list(run_id):
        if is_output(artifact.name) and artifact.attempt == attempt:
            store.remove(run_id, attempt, artifact.name)


def _check(artifacts: Mapping[str, object]) -> None:
    for name in artifacts:
        if not NAME.fullmatch(name) or not is_output(name) or name in (MODEL, CURVES):
            raise ValueError(
                f"the task named an artifact {name!r}; use letters, digits, '_', '-' and '.', perhaps after 'figures/',"
                " and no name of the run's own files"
            )
