"""What a training run tells whoever listens, torch-free.

``Started``, then for every update a ``Stepped``, for every evaluation a ``Measured``, at last one ``Finished``.
Times are training seconds: the clock stands still while a listener handles an event.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

Outcome = Literal["completed", "reached_target", "diverged"]


@dataclass(frozen=True, slots=True)
class Started:
    """Everything is built and the first update is next.

    Attributes:
        step: updates already done: 0, or those of the checkpoint.
        kernel: the implementation that runs, ``reference`` or ``fused``.
        parameters: trained numbers in the model.
        environment: packages, hardware, code version and data checksums.
    """

    step: int
    max_steps: int
    kernel: str
    parameters: int
    environment: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Stepped:
    """One update is done. ``checkpoint()`` gives the whole state; call it before asking for the next event."""

    step: int
    seconds: float
    checkpoint: Callable[[], bytes]


@dataclass(frozen=True, slots=True)
class Measured:
    """Values of several series at one step, all finite."""

    step: int
    seconds: float
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Result:
    """What a run is worth.

    Attributes:
        metric: the task's metric.
        value: the test metric of the selected model; None if the run diverged before its first evaluation.
        valid_value: the validation metric of that model when it was selected.
        step: the step at which it was selected.
        steps_to_target, seconds_to_target: when validation first reached the target, if it did.
        train_seconds: training time in all, evaluation included.
    """

    metric: str
    value: float | None
    valid_value: float | None
    step: int | None
    steps_to_target: int | None
    seconds_to_target: float | None
    train_seconds: float


@dataclass(frozen=True, slots=True)
class Finished:
    """The run is over. ``model()`` gives the selected weights and population statistics, as ``torch.save`` does."""

    outcome: Outcome
    result: Result
    model: Callable[[], bytes]


Event = Started | Stepped | Measured | Finished


def to_json(event: Event) -> dict[str, Any]:
    """The event as plain values, with its kind under ``event``; what is callable stays behind."""
    values = {f.name: getattr(event, f.name) for f in fields(event)}
    plain = {name: value for name, value in values.items() if not callable(value)}
    if isinstance(event, Finished):
        plain["result"] = asdict(event.result)
    return {"event": type(event).__name__.lower(), **plain}
