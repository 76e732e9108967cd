"""Trained model that an analysis names. The run that trained it has stored the model."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from normcore.own_code import present_code
from normcore.spec import ExperimentSpec

OF_OLDER_CODE = (
    "that run was trained by older code of its method, model, task or optimizer; train it again, and name the new run"
)


class Model(NamedTuple):
    """A trained model.

    Attributes:
        attempt: the attempt of the run that stored the model.
        code: digest of the code of the spec's own parts at the training; None if the run does not say.
    """

    attempt: int
    spec: Mapping[str, Any]
    code: str | None


def is_of_older_code(trained: ExperimentSpec, code: str | None) -> bool:
    """Tell if a model was trained by other code than this machine has. False if its run does not say its code."""
    return code not in (None, present_code(trained))
