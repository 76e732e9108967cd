"""Code of the runs that count for a spec, if the spec's own parts were edited between its runs."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Protocol, TypeVar, cast

from sqlalchemy import Row, select
from sqlalchemy.orm import Session

from normcore.own_code import present_code
from normcore.spec import ExperimentSpec
from service.experiments.tables import HAS_SUCCEEDED, Experiment, Run


class HasCode(Protocol):
    """Run with the code of its spec's own parts. The code is None for runs that are older than this field."""

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


def find_start(run: HasCode) -> datetime:
    """Start of the training that gave a run its result."""
    return run.code_at or run.started_at or run.created_at


def choose_counting_runs(runs: Sequence[R], present: str | None) -> list[R]:
    """Choose the succeeded runs of one spec that count: the runs of the present code if there are any. Otherwise the
    runs of the same code as the run that started last count.

    Args:
        present: digest of the code that this machine has; None to choose the code of the run that started last.
    """
    if not runs:
        return []
    newest = max(runs, key=lambda run: (find_start(run), run.id)).code
    code = present if present is not None and any(run.code == present for run in runs) else newest
    return [run for run in runs if run.code == code]


def choose_reusable_runs(present: str, runs: Sequence[R]) -> list[R]:
    """Choose the succeeded runs of one spec that need not be run again: the runs that count, unless their code differs
    from ``present``.
    """
    return [run for run in choose_counting_runs(runs, present) if run.code in (present, None)]


def read_reusable_runs(session: Session, spec: ExperimentSpec, fingerprint: str) -> list[Row[Any]]:
    """Read the runs of a spec that need not be run again."""
    runs = select(Run.seed, *OF_CODE).join(Experiment)
    found = session.execute(runs.where(Experiment.fingerprint == fingerprint, HAS_SUCCEEDED)).all()
    return choose_reusable_runs(present_code(spec), cast(Sequence[Row[Any]], found))
