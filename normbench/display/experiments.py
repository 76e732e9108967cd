"""Experiments and runs as tables; what a dry run would submit, as lines of text."""

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from rich.console import Group
from rich.text import Text

from normbench.answers import ENDED, ExperimentSummary, Run
from normbench.display.numbers import age, decimal, duration, format_count, seeds, size
from normbench.display.runs import outcome
from normbench.display.table import Column, Table, block
from normbench.shown_answers import Experiment, Plan
from normcore.spec.names import DIGITS

IN_COMPANY = "* not alone on its machine: these seconds count on no board (normbench logs RUN says why)."
SHORT_FINGERPRINT = 12  # characters, enough to find the fingerprint again
LONG_NUMBER = re.compile(r"(?<=[ \[])-?\d+\.\d{5,}(e[+-]\d+)?(?=[],)])")  # value of an option in a name


def experiments(summaries: Sequence[ExperimentSummary], now: datetime) -> Table:
    """Table of experiments, one in each row, with its age and the options that differ from its profile."""
    columns = (
        Column("id"),
        Column("task", words=True),
        Column("method", words=True),
        Column("state", optional=2),
        Column("age", optional=1),
        Column("runs", words=True),
    )
    rows = [
        (
            e["id"],
            task,
            name,
            "diverged" if e["runs_by_state"] == {"succeeded": e["n_diverged"]} else e["state"],
            age((now - datetime.fromisoformat(e["created_at"])).total_seconds()),
            _counts(e),
        )
        for e, (task, name) in zip(summaries, _tasks_and_names(summaries), strict=True)
    ]
    return Table("Experiments, newest first", columns, rows)


def _tasks_and_names(summaries: Sequence[ExperimentSummary]) -> list[tuple[str, str | None]]:
    """Task and name of each experiment. Numbers in the names have as few digits as leave different rows different,
    because random draws have up to 17 digits.
    """
    tasks = [f"{e['spec']['task']['name']} {e['spec']['task']['profile']}" for e in summaries]
    full = list(zip(tasks, [e["name"] for e in summaries], strict=True))
    attempts = ([(task, _shorten_numbers(name, digits)) for task, name in full] for digits in DIGITS if digits)
    return next((shown for shown in attempts if len(set(shown)) == len(set(full))), full)


def _shorten_numbers(name: str | None, digits: int) -> str | None:
    return name and LONG_NUMBER.sub(lambda number: f"{float(number[0]):.{digits}g}", name)


def waits(experiment: Experiment) -> bool:
    """Tell if the experiment has not ended and no run of it is being trained."""
    return experiment["state"] not in ENDED and all(run["state"] != "running" for run in experiment["runs"])


def runs(experiment: Experiment) -> Table:
    """Table of the runs of an experiment, one in each row."""
    columns = (
        Column("run"),
        Column("seed"),
        Column("state"),
        Column("attempt", optional=2),
        Column("step", optional=1),
        Column("test"),
        Column("time", optional=3),
        Column("outcome or error", prose=True),
    )
    rows = [
        (
            run["id"],
            run["seed"],
            run["state"],
            run["attempt"],
            f"{run['progress']['step']}/{run['progress']['max_steps']}",
            None if (value := value_of(run)) is None else decimal(value),
            _time(run),
            run["error"] or (f"{outcome(run)}, of older code" if run.get("of_older_code") else outcome(run)),
        )
        for run in experiment["runs"]
    ]
    title = f"{experiment['id']}: {subject(experiment)}, {experiment['state']}"
    return Table(title, columns, rows, IN_COMPANY if any(map(is_contended, experiment["runs"])) else None)


def has_diverged(run: Run) -> bool:
    """Tell if the training of a run reached values that are not finite."""
    return run.get("outcome") == "diverged"


def divergence_step(run: Run) -> int:
    """Step at which a run diverged. Older services do not tell it; then it is the last step that they know."""
    divergence: Mapping[str, Any] = (run["result"] or {}).get("divergence") or {}
    step: int = divergence.get("step", run["progress"]["step"])
    return step


def has_diverged_altogether(experiment: Experiment) -> bool:
    """Tell if every seed of the experiment diverged."""
    return bool(experiment["runs"]) and all(map(has_diverged, experiment["runs"]))


def divergences(runs: Sequence[Run]) -> str | None:
    """Phrase on the runs that diverged, and their steps: ``2 of 5 diverged at step 10``. None if no run diverged."""
    steps = sorted({divergence_step(run) for run in runs if has_diverged(run)})
    if not steps:
        return None
    lost = sum(map(has_diverged, runs))
    which = "" if lost == len(runs) else f"{lost} of {len(runs)} "
    return f"{which}diverged at step {steps[0]}" + (f" to {steps[-1]}" if len(steps) > 1 else "")


def _time(run: Run) -> str | None:
    """Training time of a run, with a mark if no board counts it."""
    spent = run["timing"]
    return spent and f"{duration(spent['training'])}{'*' if is_contended(run) else ''}"


def is_contended(run: Run) -> bool:
    """Tell if something else ran on the run's machine."""
    return run["timing"] is not None and run["timing"]["certificate"]["contended"]


def plan(found: Plan) -> Group:
    """Lines on the plan of an experiment."""
    known, in_all = found["seconds_per_run"], found["total_seconds"]
    lines = {
        "runs": f"{found['runs']} ({seeds(found['spec']['seeds'])})",
        "measured already": seeds(found["measured_seeds"]) if found["measured_seeds"] else "none of these seeds",
        "time of a run": "not known yet" if known is None else f"{duration(known)} ({found['basis']})",
        "time in all": "not known yet" if in_all is None else duration(in_all),
        "memory of a run": memory(found),
        "place in the queue": found["queue_position"],
        **({"code": "; ".join(other_code(found))} if other_code(found) else {}),
        "fingerprint": found["fingerprint"][:SHORT_FINGERPRINT],
    }
    return Group(Text(f"{subject(found)} (nothing is submitted)", "bold"), block(lines))


def other_code(found: Plan) -> list[str]:
    """Sentences on the live workers that have other code than the API for parts of the spec."""
    workers = (found.get("code") or {}).get("workers", [])
    return [
        f"worker {worker['host']} (process {worker['pid']}) has other code for {', '.join(worker['parts'])}"
        for worker in workers
    ]


def memory(found: Plan) -> str:
    """Phrase on the memory that a run needs at least, and on the memory of the largest live worker."""
    needed, there_is = found.get("memory_bytes"), found.get("worker_memory_bytes")
    if needed is None:
        return "not known"
    of = "no live worker says what it has" if there_is is None else f"the largest live worker gives {size(there_is)}"
    return f"at least {size(needed)}; {of}"


def subject(found: Experiment | Plan) -> str:
    """Subject of an experiment: the task and the experiment's name."""
    return " ".join(filter(None, (found["spec"]["task"]["name"], found["name"])))


def value_of(run: Run) -> float | None:
    """Test value of a run; None if it has no result, or a result without a test value."""
    return run["result"].get("value") if run["result"] else None


def runs_of(experiment: Experiment) -> str:
    """Number and subject of an experiment's runs: ``2 runs of permuted_digits layer_norm``."""
    return f"{format_count(len(experiment['runs']), 'run')} of {subject(experiment)}"


def _counts(found: ExperimentSummary) -> str:
    """Number of runs in each state, which a narrow table shows instead of the experiment's state.

    Runs that diverged are counted apart, although their state is succeeded.
    """
    lost = found["n_diverged"]
    told = [(count - lost if state == "succeeded" else count, state) for state, count in found["runs_by_state"].items()]
    return " + ".join(f"{count} {word}" for count, word in [*told, (lost, "diverged")] if count)
