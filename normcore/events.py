"""Events of a run, torch-free.

A training: ``Started``, then for every update a ``Stepped``, after the first one a ``Probed`` (``normcore.run``), for
every evaluation an ``Evaluating`` before each of its phases and a ``Measured``, at last one ``Finished``. An analysis:
``Started``, then for every piece of its work an ``Advanced``, then its curves as ``Measured``, at last one
``Analysed``. Times are seconds of work: the clock stands still while a listener handles an event, and of a training
while it is evaluated.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Literal, Self

Outcome = Literal["completed", "reached_target", "diverged"]
Phase = Literal["population statistics", "validation", "test"]


@dataclass(frozen=True, slots=True)
class Started:
    """Everything is built and the first update, or the first piece of an analysis, is next.

    Attributes:
        step: updates already done: 0, or those of the checkpoint.
        max_steps: updates, or pieces, in all.
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
class Probed:
    """The machine was probed as a training began: seconds of the reference kernel (``normcore.probe``)."""

    seconds: Sequence[float]


@dataclass(frozen=True, slots=True)
class Stepped:
    """One update is done. ``checkpoint()`` gives the whole state; call it before asking for the next event."""

    step: int
    seconds: float
    checkpoint: Callable[[], bytes]


@dataclass(frozen=True, slots=True)
class Evaluating:
    """A phase of an evaluation after update ``step`` is next, which may take a while."""

    step: int
    seconds: float
    phase: Phase


@dataclass(frozen=True, slots=True)
class Measured:
    """Values of several series at one step, all finite.

    In an analysis, ``step`` is the curve's x value: time step, length or batch size.
    """

    step: int
    seconds: float
    values: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Divergence:
    """Divergence of a training.

    Attributes:
        series: the first series that was no longer finite.
        step: the evaluation that noticed it.
        last_finite: the last finite value of each series; on a GPU, that of the last evaluation.
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
        metric: the task's first metric, which ranks.
        values: all of its metrics on the test data, of the model that the task's rule selected; none if the run
            diverged before it had selected one.
        value: that of ``metric``.
        valid_value: the validation metric of that model when it was selected.
        no_skill: what a model gets that ignores its input; None in results of before it was kept.
        step: the step at which it was selected.
        steps_to_target, seconds_to_target: when validation first reached the target and held it, if it did
            (``normcore.target``).
        steps_below_target, seconds_below_target: if it did not, the last evaluation that was below it.
        train_seconds: of all updates, and of nothing else.
        divergence: what was no longer finite; None if the run did not diverge, and in results that are older than this
            field.
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
        compile: building the model, and compiling or loading its kernels.
        data: reading the data set and drawing batches. A GPU computes while batches are drawn, so there it is reading
            alone.
        warm_up: passes before the first update, which leave no trace but what comes at first use.
        training: the updates.
        evaluation: population statistics, validation and test.
        windows: seconds of training an update, from one evaluation to the next.
        probe: seconds of the reference kernel just after (``normcore.probe``).
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
    """The run is over.

    Attributes:
        timing: where its seconds went.
        model: gives the selected weights and population statistics, as ``torch.save`` does.
        artifacts: gives what else the task makes of the model, by file name: letters, digits, ``_``, ``-`` and ``.``,
            perhaps in the folder ``figures/``; ``figures/<name>.json`` holds a figure.
    """

    outcome: Outcome
    result: Result
    timing: Timing
    model: Callable[[], bytes]
    artifacts: Mapping[str, Callable[[], bytes]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Advanced:
    """One more piece of an analysis is done, ``step`` in all."""

    step: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that an analysis found.

    Attributes:
        name: what it is about; unique in its analysis.
        value: the number that was measured; None if there is none that is finite.
        meaning: what ``value`` is.
        verdict: what it shows, in a word or two.
        claim: what the source says of it; after "corrected:", what it should say instead.
        holds: whether the measurement agrees with the claim; None if nothing is claimed.
        source: where it is claimed.
        parameters: what it was measured at, such as a gain.
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
        """Copy of the finding, tested against a source's claim."""
        return replace(self, claim=claim, holds=holds, source=source)


@dataclass(frozen=True, slots=True)
class Analysed:
    """The analysis is over."""

    findings: Sequence[Finding]
    seconds: float


Event = Started | Probed | Stepped | Evaluating | Measured | Finished | Advanced | Analysed


def to_json(event: Event) -> dict[str, Any]:
    """The event as plain values, with its kind under ``event``; what is callable stays behind."""
    values = {f.name: getattr(event, f.name) for f in fields(event)}
    plain = {name: value for name, value in values.items() if not callable(value)}
    if isinstance(event, Finished):
        plain |= {"result": asdict(event.result), "timing": asdict(event.timing), "artifacts": sorted(event.artifacts)}
    if isinstance(event, Analysed):
        plain["findings"] = [asdict(finding) for finding in event.findings]
    return {"event": type(event).__name__.lower(), **plain}
