"""Comparison of a run and its replay, as a sentence and tables."""

from rich.console import Group, RenderableType
from rich.text import Text

from normbench.answers import ReplayChange, ReplayComparison
from normbench.display.numbers import format_count
from normbench.display.table import Column, Table

WHERE = "code, packages, data and machine"


def render_replay(found: ReplayComparison) -> Group:
    """Show if a run and its replay have the same numbers, where the numbers differ, and how the environments differ."""
    parts: list[RenderableType] = [Text(_verdict(found), "bold")]
    if found["deviations"]:
        parts.append(_deviations(found))
    parts.append(_changes(found) if found["changed"] else Text(f"Nothing is different about {WHERE}."))
    return Group(*parts)


def _verdict(found: ReplayComparison) -> str:
    whose = f"{found['run_id']} and {found['again']} (seed {found['seed']})"
    if found["identical"]:
        return f"{whose} are identical: {found['series']} series, {format_count(found['points'], 'point')}"
    return f"{whose} differ in {len(found['deviations'])} of {found['series']} series"


def _deviations(found: ReplayComparison) -> Table:
    columns = (
        Column("series"),
        Column("from step"),
        Column("then"),
        Column("now"),
        Column("largest difference"),
        Column("points", optional=1),
    )
    rows = [
        (
            deviation["series"],
            f"{deviation['from_step']:g}",
            _number(deviation["then"]),
            _number(deviation["now"]),
            None if deviation["largest"] is None else f"{deviation['largest']:.3g}",
            f"{deviation['differing']} of {deviation['points']}",
        )
        for deviation in found["deviations"]
    ]
    return Table("Where they differ", columns, rows)


def _changes(found: ReplayComparison) -> Table:
    columns = (Column("what"), Column("then", prose=True), Column("now", prose=True))
    return Table(f"What is different about {WHERE}", columns, [_change(changed) for changed in found["changed"]])


def _change(changed: ReplayChange) -> tuple[str, str | None, str | None]:
    then, now = (None if changed[when] is None else str(changed[when]) for when in ("then", "now"))
    return changed["what"], then, now


def _number(value: float | None) -> str | None:
    """Number with all its digits: two numbers may differ in the last digit alone."""
    return None if value is None else repr(value)
