"""Sweeps and their cells as tables, and plans as lines."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from normbench.answers import Importance, SweepCell, SweepSummary
from normbench.display.numbers import age, decimal, duration, format_count, interval
from normbench.display.table import Column, Table, block
from normbench.shown_answers import Sweep, SweepPlan
from normcore.spec.names import cell_names, option, write_shared_changes

NUMBERS_SHOWN = (1, 2, 3, 5, 10, 20, 50, 100, 200, 500)  # sizes of a search, in cells
BEST = "* the best cell: it has the best validation value, by which the cells are sorted"


def sweeps(summaries: Sequence[SweepSummary], now: datetime) -> Table:
    """Table of sweeps, one in each row, with its age."""
    columns = (
        Column("id"),
        Column("task", words=True),
        Column("over", words=True),
        Column("state"),
        Column("runs ended", optional=1),
        Column("age", optional=2),
    )
    rows = [
        (
            sweep["id"],
            _task(sweep),
            ", ".join(map(option, [*sweep["grid"], *sweep["random"]])),
            sweep["state"],
            f"{sweep['progress']['done']} of {sweep['progress']['total']}",
            age((now - datetime.fromisoformat(sweep["created_at"])).total_seconds()),
        )
        for sweep in summaries
    ]
    return Table("Sweeps, newest first", columns, rows)


def sweep(found: Sweep, importance: Importance | None = None) -> Group:
    """Verdict on a sweep, table of its cells with the best one marked, expected test values of searches of fewer cells,
    and the importance of its fields."""
    verdict = found["verdict"]
    parts: list[RenderableType] = [
        Text(" ".join(filter(None, (verdict["claim"], verdict["detail"]))), "bold"),
        _cells(found),
    ]
    if len(found["budget_curve"]) and any(len(curve) > 1 for curve in found["budget_curve"].values()):
        parts.append(_budgets(found["budget_curve"]))
    parts += [Text(_flip(flip)) for flip in found["budget_flips"]]
    if importance is not None and importance["fields"]:
        parts.append(_importance(importance))
    return Group(*parts)


def _importance(found: Importance) -> Table:
    explained = f"explains {max(found['explained'] or 0.0, 0.0):.0%} of the variance out of bag"
    rows = [(option(one["field"]), f"{max(one['importance'], 0.0):.2f}") for one in found["fields"]]
    title = f"Importance of the fields, by a random forest that {explained}"
    return Table(title, [Column("field"), Column("importance")], rows, found["note"])


def plan(found: SweepPlan) -> Group:
    """Lines on the plan of a sweep."""
    in_all = found["total_seconds"]
    more = f", up to {found['most_runs']:,}" if found["most_runs"] > found["n_runs"] else ""
    basis = found["basis"] or "nothing is left to run"
    lines = {
        "experiments": f"{found['n_experiments']:,}",
        "runs": f"{found['n_runs']:,}{more}",
        "measured already": format_count(found["reused_runs"], "run") if found["reused_runs"] else "none of these runs",
        "time in all": "not known yet" if in_all is None else f"{duration(in_all)} ({basis})",
        "place in the queue": found["queue_position"],
    }
    return Group(Text("A sweep (nothing is submitted)", "bold"), block(lines))


def title(found: Sweep | SweepSummary) -> str:
    """Title of a sweep: ``swp_…  permuted_digits small, 10 experiments``."""
    return f"{found['id']}  {_task(found)}, {format_count(found['n_experiments'], 'experiment')}"


def names_of(found: Sweep) -> list[str]:
    """Names of a sweep's cells, made of their values: ``method layer_norm, lr 0.001``."""
    return cell_names([cell["values"] for cell in found["cells"]])


def diverged_cells(found: Sweep) -> list[SweepCell]:
    """Cells of a sweep in which every seed diverged."""
    return [
        cell
        for cell in found["cells"]
        if cell["state"] == "succeeded" and cell["entry"] and cell["entry"]["n_diverged"] == cell["entry"]["n_seeds"]
    ]


def _task(found: Sweep | SweepSummary) -> str:
    tasks = [f"{task['name']} {task['profile']}" for task in found["tasks"]]
    return tasks[0] if len(tasks) == 1 else "several tasks"


def _cells(found: Sweep) -> Table:
    best, lost = found["best"] and found["best"]["fingerprint"], diverged_cells(found)
    columns = (
        Column("cell", words=True),
        Column("state"),
        Column("valid"),
        Column("test [95%]"),
        Column("seeds", optional=1),
        Column("experiment", optional=2),
    )
    rows = [
        (
            name + (" *" if cell["fingerprint"] == best else ""),
            "diverged" if cell in lost else cell["state"],
            None if (valid := _valid(cell)) is None else decimal(valid),
            interval(cell["entry"]["value"]) if cell["entry"] else None,
            len(cell["seeds"]),
            cell["experiment_id"],
        )
        for cell, name in _best_first(found)
    ]
    return Table(
        f"{title(found)}, {found['state']}{_describe_shared_changes(found)}", columns, rows, BEST if best else None
    )


def _best_first(found: Sweep) -> list[tuple[SweepCell, str]]:
    """Cells with their names, best validation value first, then cells over the budget, then cells without a value."""
    direction = found.get("direction")  # older services do not have this field
    sign = -1 if direction == "maximize" else 1

    def place(one: tuple[SweepCell, str]) -> tuple[bool, bool, float]:
        valid, entry = _valid(one[0]), one[0]["entry"]
        return valid is None, bool(entry and entry["over_budget"]), sign * (valid or 0.0)

    cells = list(zip(found["cells"], names_of(found), strict=True))
    return sorted(cells, key=place) if direction else cells


def _valid(cell: SweepCell) -> float | None:
    """Mean validation value of a cell; the best cell is chosen by it."""
    return cell["entry"]["valid_value"] if cell["entry"] else None


def _describe_shared_changes(found: Sweep) -> str:
    """Phrase on the changes from the profile that all cells share; empty if there are none."""
    changed = [cell["entry"]["changes"] for cell in found["cells"] if cell["entry"]]
    alike = write_shared_changes(changed, {path for cell in found["cells"] for path in cell["values"]})
    return f"; all cells: {alike}" if alike else ""


def _budgets(curves: Mapping[str, Sequence[Sequence[float]]]) -> Table:
    most = max(map(len, curves.values()))
    shown = sorted({k for k in NUMBERS_SHOWN if k < most} | {most})
    columns = [Column("method"), *(Column(f"{k}", optional=0 if k in (1, most) else 1) for k in shown)]
    rows = [
        (method, *(decimal(curve[k - 1][1]) if k <= len(curve) else None for k in shown))
        for method, curve in curves.items()
    ]
    return Table("Expected test value if you had tried only k settings", columns, rows)


def _flip(flip: Mapping[str, Any]) -> str:
    cells = format_count(flip["k"], "cell")
    doubt = f"\nUncertain: there are few ways to choose {cells}." if flip["is_uncertain"] else ""
    return f"From {cells} on {flip['better']} is better than {flip['worse']}.{doubt}"
