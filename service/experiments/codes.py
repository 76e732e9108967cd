"""The code of a spec whose runs count, where its own parts were edited between them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Protocol, TypeVar, cast

from sqlalchemy import Row, select
from sqlalchemy.orm import Session

from normcore.own_code import present_code
from normcore.spec import ExperimentSpec
from service.experiments.tables import Experiment, Run


class HasCode(Protocol):
    """A run that tells the code of its spec's own parts, or None if it is older than that."""

    @property
    def code(self) -> str | None: ...

    @property
    def code_at(self) -> datetime | None: ...

    @property
    def started_at(self) -> datetime | None: ...

    @property
    def created_at(self) -> datetime: ...

    @property
    def id(self) -> str: ...


R = TypeVar("R", bound=HasCode)
OF_CODE = (Run.id, Run.code, Run.code_at, Run.started_at, Run.created_at)


def started(run: HasCode) -> datetime:
    """Start of the training that gave a run its result."""
    return run.code_at or run.started_at or run.created_at


def counting(runs: Sequence[R], present: str | None) -> list[R]:
    """The succeeded runs of one spec that count: those of the present code if it has any; else those of the code of the
    run that started last.

    Args:
        present: the code of this machine's files; None for the runs of a moment.
    """
    if not runs:
        return []
    newest = max(runs, key=lambda run: (started(run), run.id)).code
    code = present if present is not None and any(run.code == present for run in runs) else newest
    return [run for run in runs if run.code == code]


def measured_by(present: str, runs: Sequence[R]) -> list[R]:
    """The succeeded runs of one spec that need not be run again: the runs that count, unless they are of other code."""
    return [run for run in counting(runs, present) if run.code in (present, None)]


def measured(session: Session, spec: ExperimentSpec, fingerprint: str) -> list[Row[Any]]:
    """The runs of a spec that need not be run again."""
    runs = select(Run.seed, *OF_CODE).join(Experiment)
    found = session.execute(runs.where(Experiment.fingerprint == fingerprint, Run.state == "succeeded")).all()
    return measured_by(present_code(spec), cast(Sequence[Row[Any]], found))
