"""History of a run, and the seconds that its parts took."""

from rich.console import Group
from rich.text import Text

from normbench.answers import Run, Timing
from normbench.display.numbers import duration
from normbench.display.table import Column, Table, block

PARTS = {
    "training": "training",
    "evaluation": "evaluation",
    "data": "reading and drawing data",
    "compile": "building and compiling",
    "warm_up": "warming up",
}


def history(run: Run) -> Table:
    """Table of a run's history: its attempts, and its present state."""
    columns = (Column("attempt"), Column("when"), Column("what", prose=True))
    rows = [
        (1, moment(run["created_at"]), "submitted"),
        *((entry["attempt"], moment(entry["at"]), entry["reason"]) for entry in run["history"]),
        (run["attempt"], moment(run["finished_at"] or run["started_at"] or run["created_at"]), _now(run)),
    ]
    return Table(f"{run['id']} (seed {run['seed']}): {run['state']}, attempt {run['attempt']}", columns, rows)


def timing(spent: Timing) -> Group:
    """Seconds that each part of a run took, and if the run's seconds count on boards."""
    lines = {name: duration(spent[part]) for part, name in PARTS.items()}  # type: ignore[literal-required]
    lines["its seconds"] = explain_certificate(spent)
    return Group(Text("Where its time went", "bold"), block(lines))


def explain_certificate(spent: Timing) -> str:
    """Say if the seconds of a run count on boards, with the evidence that it was alone on its machine or was not."""
    certificate = spent["certificate"]
    if certificate["contended"]:
        return f"do not count on boards: {certificate['reason']}"
    times = " and ".join(f"{1000 * certificate[when]:.1f} ms" for when in ("before", "after"))
    quiet = f"{1000 * certificate['quiet']:.1f} ms"
    return f"count: it was alone (reference kernel {times}; {quiet} on this machine when it is quiet)"


def moment(time: str | None) -> str | None:
    """Text of a time to the second, without the T of ISO 8601; None for no time."""
    return time and time[:19].replace("T", " ")


def _now(run: Run) -> str:
    since = f", from step {run['resumed_from_step']}" if run["resumed_from_step"] is not None else ""
    if run["state"] == "running":
        return f"running{since}, at step {run['progress']['step']} of {run['progress']['max_steps']}"
    return ": ".join(filter(None, (run["state"] + since, run["error"] or outcome(run))))


def outcome(run: Run) -> str | None:
    """Outcome of a run; for a diverged one also the step, and the series that was no longer finite."""
    divergence = (run["result"] or {}).get("divergence")
    if divergence is None:
        return f"diverged at step {run['progress']['step']}" if run["outcome"] == "diverged" else run["outcome"]
    series = divergence["series"]
    before = divergence["last_finite"].get(series)
    known = "" if before is None else f"; before that it was {before:.4g}"
    return f"diverged at step {divergence['step']}: {series} was no longer finite{known}"
