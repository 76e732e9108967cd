"""Events of a run. This module does not import torch.

A training begins with ``Started``. Each update gives a ``Stepped``; after the first update comes a ``Probed`` (see
``normcore.run``). An evaluation gives an ``Evaluating`` before each of its phases, and then a ``Measured``. The last
event is ``Finished``.

An analysis begins with ``Started``. Each piece of its work gives an ``Advanced``. Its curves follow as ``Measured``.
The last event is ``Analysed``.

Times are seconds of work: the clock is stopped while a listener handles an event, and while a training is evaluated.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal, Self

Outcome = Literal["completed", "reached_target", "diverged"]
Phase = Literal["population statistics", "validation", "test"]


@dataclass(frozen=True, slots=True)
class Started:
    """Event: everything is built, and the first update (or the first piece of an analysis) is next.

    Attributes:
        step: number of updates that are already done: 0, or the updates before the checkpoint.
        max_steps: number of updates, or of pieces of the analysis, in all.
        kernel: the implementation that runs, ``reference`` or ``fused``.
        parameters: number of trained parameters of the model; 0 for an analysis.
        environment: packages, hardware, code version and data checksums.
    """

    step: int
    max_steps: int
    kernel: str
    parameters: int
    environment: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Probed:
    """Event: the reference kernel was timed as a training began, to probe the machine (``normcore.probe``).

    Attributes:
        seconds: seconds of the reference kernel, measured several times.
    """

    seconds: Sequence[float]


@dataclass(frozen=True, slots=True)
class Stepped:
    """Event: one update is done. ``checkpoint()`` returns the whole state of the training; call it before the next
    event is taken."""

    step: int
    seconds: float
    checkpoint: Callable[[], bytes]


@dataclass(frozen=True, slots=True)
class Evaluating:
    """Event: a phase of the evaluation after update ``step`` is next. The phase may take a while."""

    step: int
    seconds: float
    phase: Phase


@dataclass(frozen=True, slots=True)
class Measured:
    """Event: several series were measured at one step. All values are finite.

    In an analysis, ``step`` is the x value of the curves: time step, length or batch size.
    """

    step: int
    seconds: float
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Divergence:
    """Divergence of a training: a loss, a norm or a metric was no longer finite.

    Attributes:
        series: name of the first series that was no longer finite.
        step: number of updates after which the divergence was found.
        last_finite: the last finite value of each series; on a GPU, the value at the last evaluation.
    """

    series: str
    step: int
    last_finite: Mapping[str, float]

    def __str__(self) -> str:
        before = self.last_finite.get(self.series)
        known = "" if before is None else f"; before that it was {before:.6g}"
        return f"diverged at step {self.step}: {self.series} was no longer finite{known}"


@dataclass(frozen=True, slots=True)
class Result:
    """Result of a run.

    Attributes:
        metric: name of the task's first metric, by which runs are ranked.
        values: test values of all metrics, for the model that the task's rule selected; empty if the run diverged
            before a model was selected.
        value: test value of ``metric``.
        valid_value: validation value of ``metric`` for the selected model, when it was selected.
        no_skill: value of ``metric`` for a model that ignores its input; None in results older than this field.
        step: step at which the model was selected.
        steps_to_target, seconds_to_target: time at which validation first reached the target and held it
            (``normcore.target``); None if it did not.
        steps_below_target, seconds_below_target: time of the last evaluation that was below the target; None if the
            target was reached and held.
        train_seconds: seconds of all updates, and of nothing else.
        divergence: the divergence of the run; None if the run did not diverge, and in results older than this field.
    """

    metric: str
    values: Mapping[str, float]
    value: float | None
    valid_value: float | None
    no_skill: float | None
    step: int | None
    steps_to_target: float | None
    seconds_to_target: float | None
    steps_below_target: float | None
    seconds_below_target: float | None
    train_seconds: float
    divergence: Divergence | None = None


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds of a training by purpose, over all processes of the run.

    Attributes:
        compile: seconds for building the model, and for compiling or loading its kernels.
        data: seconds for reading the data set and drawing batches; on a GPU for reading alone, because a GPU computes
            while batches are drawn.
        warm_up: seconds of the passes before the first update. They change no weights; they take the costs of first
            use, so that no update has these costs.
        training: seconds of the updates.
        evaluation: seconds for population statistics, validation and test.
        windows: mean seconds of an update in each window, from one evaluation to the next.
        probe: seconds of the reference kernel at the end of the training (``normcore.probe``).
    """

    compile: float
    data: float
    warm_up: float
    training: float
    evaluation: float
    windows: Sequence[float] = ()
    probe: Sequence[float] = ()


@dataclass(frozen=True, slots=True)
class Finished:
    """Event: a training is over.

    Attributes:
        timing: seconds of the training by purpose.
        model: function that returns the selected weights and population statistics, in the format of ``torch.save``.
        artifacts: functions that return other files of the task, by file name. A name has letters, digits, ``_``,
            ``-`` and ``.``, perhaps in the folder ``figures/``; ``figures/<name>.json`` holds a figure.
    """

    outcome: Outcome
    result: Result
    timing: Timing
    model: Callable[[], bytes]
    artifacts: Mapping[str, Callable[[], bytes]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Advanced:
    """Event: one more piece of an analysis is done. ``step`` pieces are done in all."""

    step: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Finding:
    """Finding of an analysis: a measured number, and perhaps a claim that the number is compared with.

    Attributes:
        name: name of the finding; unique in its analysis.
        value: the number that was measured; None if no finite number was measured.
        meaning: what the number ``value`` is.
        verdict: what the number shows, in a word or two.
        claim: what the source claims; after "corrected:", what the source should say instead.
        holds: whether the measurement agrees with the claim; None if nothing is claimed.
        source: where the claim stands.
        parameters: settings of the measurement, such as a gain.
    """

    name: str
    value: float | None
    meaning: str
    verdict: str | None = None
    claim: str | None = None
    holds: bool | None = None
    source: str | None = None
    parameters: Mapping[str, float | str] = field(default_factory=dict)

    def against(self, claim: str, holds: bool, source: str) -> Self:
        """Copy the finding, and add a source's claim and whether the claim holds."""
        return replace(self, claim=claim, holds=holds, source=source)


@dataclass(frozen=True, slots=True)
class Analysed:
    """Event: an analysis is over."""

    findings: Sequence[Finding]
    seconds: float


Event = Started | Probed | Stepped | Evaluating | Measured | Finished | Advanced | Analysed


def to_json(event: Event) -> dict[str, Any]:
    """Convert an event to plain values. The key ``event`` has the kind of the event; functions are left out."""
    values = {f.name: getattr(event, f.name) for f in fields(event)}
    plain = {name: value for name, value in values.items() if not callable(value)}
    if isinstance(event, Finished):
        plain |= {"result": asdict(event.result), "timing": asdict(event.timing), "artifacts": sorted(event.artifacts)}
    if isinstance(event, Analysed):
        plain["findings"] = [asdict(finding) for finding in event.findings]
    return {"event": type(event).__name__.lower(), **plain}
