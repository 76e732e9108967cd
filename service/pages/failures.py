"""Why a run failed or diverged, in words, and what to do about it."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from normcore.spec import TrainingSpec, departures
from normcore.spec.experiment import parse
from service import wording
from service.experiments.schemas import RunOut

MAX_WRITTEN = 300  # characters of an error
RAISED = re.compile(r"(?P<kind>(?:\w+\.)*[A-Z]\w*): (?P<message>.+)")
OUT_OF_MEMORY = "out of memory: "
LOST = re.compile(r"lost (?P<times>\d+) times without a new checkpoint: (?P<reasons>.+)")
UNKNOWN = "its error is not known"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a run has no result, as the end of a sentence, and what to do."""

    cause: str
    advice: str


def explain_error(error: str | None) -> Failure:
    """Explain the error of a failed run."""
    first = (error or "").strip().partition("\n")[0][:MAX_WRITTEN]
    if first.startswith(OUT_OF_MEMORY):
        cause = f"it ran out of memory: {first.removeprefix(OUT_OF_MEMORY)}"
        return Failure(
            cause, "Take a smaller batch or a smaller model. The submit form says how much memory a run needs."
        )
    if lost := LOST.fullmatch(first):
        cause = f"it broke off {lost['times']} times without a new checkpoint; the last time, {_last(lost['reasons'])}"
        return Failure(cause, "Check the memory limits of the worker's machine, and read the worker's own log.")
    if raised := RAISED.fullmatch(first):
        cause = f"the training raised {raised['kind']}: {raised['message']}"
        return Failure(cause, "The log has the traceback. Mend the code or the specification, then retry.")
    return Failure(
        first or UNKNOWN, "Read the log. If the cause is mended, retry: the run goes on from its last checkpoint."
    )


def has_more(error: str | None) -> bool:
    """Tell if an error has more than ``explain_error`` says."""
    return error is not None and ("\n" in error.strip() or len(error) > MAX_WRITTEN)


def _last(reasons: str) -> str:
    return reasons.rpartition("; ")[2]


def describe_failure(run: RunOut) -> str:
    """Sentence that says where a run failed, and why."""
    at = wording.steps(run.progress.step)
    begun = run.progress.step > 0
    where = f"at step {at} of {wording.steps(run.progress.max_steps)}" if begun else "before its first step"
    return f"It failed {where}: {explain_error(run.error).cause.rstrip('.')}."


def advise_on_divergence(spec: Mapping[str, Any]) -> str:
    """Advice for a run of this spec that diverged: what to try instead of its learning rate."""
    rate, usual = _learning_rates(spec)
    if rate is None:
        return "Most often the learning rate is too large; try a tenth of it."
    tenth = f"try {rate / 10:g}"
    if usual is not None and rate > usual:
        return f"Its learning rate {rate:g} is {rate / usual:.3g} times the profile's {usual:g}; {tenth}."
    return f"Most often the learning rate is too large; it is {rate:g}, {tenth}."


def _learning_rates(spec: Mapping[str, Any]) -> tuple[float | None, float | None]:
    """Learning rate of a spec, and of its profile if that differs; None for a rate that is not known."""
    try:
        parsed = parse(spec)
    except ValueError:
        return None, None
    if not isinstance(parsed, TrainingSpec):
        return None, None
    rate = getattr(parsed.training.optimizer, "lr", None)
    _, usual = departures(parsed).get("training.optimizer.lr", (rate, None))
    return rate, usual


def group_errors(runs: Sequence[RunOut]) -> list[tuple[str, list[RunOut]]]:
    """Errors of runs, each with the runs that have it; errors of most runs come first."""
    groups: dict[str, list[RunOut]] = {}
    for run in runs:
        if run.error:
            groups.setdefault(run.error, []).append(run)
    return sorted(groups.items(), key=lambda group: -len(group[1]))
