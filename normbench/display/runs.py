"""One run, as its history shows it."""

from normbench.answers import Run
from normbench.display.table import Column, Table


def history(run: Run) -> Table:
    """What befell each attempt, and what the run is now."""
    columns = (Column("attempt"), Column("when"), Column("what", prose=True))
    rows = [
        (1, moment(run["created_at"]), "submitted"),
        *((entry["attempt"], moment(entry["at"]), entry["reason"]) for entry in run["history"]),
        (run["attempt"], moment(run["finished_at"] or run["started_at"] or run["created_at"]), _now(run)),
    ]
    return Table(f"{run['id']} (seed {run['seed']}): {run['state']}, attempt {run['attempt']}", columns, rows)


def moment(time: str | None) -> str | None:
    """An ISO 8601 time in UTC, to the second."""
    return time and time[:19].replace("T", " ")


def _now(run: Run) -> str:
    since = f", from step {run['resumed_from_step']}" if run["resumed_from_step"] is not None else ""
    if run["state"] == "running":
        return f"running{since}, at step {run['progress']['step']} of {run['progress']['max_steps']}"
    return ": ".join(filter(None, (run["state"] + since, run["error"] or run["outcome"])))
