"""A trained model that an analysis names, as its run left it behind."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from normcore.own_code import present_code
from normcore.spec import ExperimentSpec

OF_OLDER_CODE = (
    "that run was trained by older code of its method, model, task or optimizer; train it again, and name that"
)


class Model(NamedTuple):
    """A trained model.

    Attributes:
        attempt: of its run, which stored it.
        code: of its spec's own parts when it was trained; None if its run does not tell.
    """

    attempt: int
    spec: Mapping[str, Any]
    code: str | None


def is_of_older_code(trained: ExperimentSpec, code: str | None) -> bool:
    """Tell if a model was trained by other code than this machine's; False if its run does not tell its code."""
    return code not in (None, present_code(trained))
