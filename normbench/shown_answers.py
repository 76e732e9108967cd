"""Answers that show themselves in a notebook, and that become data frames.

They are the dictionaries and lists of ``normbench.answers``. Their display is the same as that of the command line.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from normbench import frames

if TYPE_CHECKING:
    from pandas import DataFrame

MOST_ROWS = 1000  # of a data frame of a list that has pages
SCALARS = (str, int, float, bool, type(None))
Row = TypeVar("Row")


class ShownAnswer(dict[str, Any]):
    """Answer that is a dictionary. A subclass names its parts on a page, and its rows in a data frame."""

    def parts(self) -> Iterable[Any]:
        """Make the tables and texts that show the answer."""
        raise NotImplementedError

    def rows(self) -> Sequence[Mapping[str, Any]]:
        """Make the rows of the data frame."""
        raise NotImplementedError

    def to_frame(self) -> "DataFrame":
        """Make a data frame. Nested fields have dotted names such as ``value.mean``.

        Raises:
            Missing: pandas is not installed.
        """
        return frames.frame(self.rows())

    def _repr_html_(self) -> str:
        from normbench.display.html import to_html  # here: only tables need rich

        return to_html(self.parts())

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        """Show the same tables where IPython cannot show HTML."""
        from normbench.display.html import to_text

        printer.text(to_text(self.parts()))


class ShownLeaderboard(ShownAnswer):
    """Leaderboard: a row for each entry."""

    def parts(self) -> Iterable[Any]:
        from normbench.display.leaderboard import leaderboard

        return [leaderboard(cast(Any, self))]

    def rows(self) -> Sequence[Mapping[str, Any]]:
        return cast(Sequence[Mapping[str, Any]], self["entries"])


class ShownOverall(ShownAnswer):
    """Overall leaderboard: a row for each method."""

    def parts(self) -> Iterable[Any]:
        from normbench.display.overall import overall

        return [overall(cast(Any, self))]

    def rows(self) -> Sequence[Mapping[str, Any]]:
        return cast(Sequence[Mapping[str, Any]], self["methods"])


class ShownComparison(ShownAnswer):
    """Comparison: a row for each entry, without its curves."""

    curves: ClassVar = frozenset({"curve", "curve_by_seconds", "runs", "survival"})

    def parts(self) -> Iterable[Any]:
        from normbench.display.comparison import comparison

        return [comparison(cast(Any, self))]

    def rows(self) -> Sequence[Mapping[str, Any]]:
        return [_without(entry, self.curves) for entry in self["entries"]]


class ShownExperiment(ShownAnswer):
    """Experiment: a row for each run."""

    long: ClassVar = frozenset({"environment", "history", "timing"})

    def parts(self) -> Iterable[Any]:
        from normbench.display.experiments import runs

        labels = self["spec"].get("labels") or {}
        return [runs(cast(Any, self)), *([", ".join(f"{k}: {v}" for k, v in labels.items())] if labels else [])]

    def rows(self) -> Sequence[Mapping[str, Any]]:
        named = {"name": self["name"], "fingerprint": self["fingerprint"]}
        return [named | _without(run, self.long) for run in self["runs"]]


class ShownSweep(ShownAnswer):
    """Sweep: a row for each cell. The swept fields are columns with names such as ``values.norm.eps``."""

    def parts(self) -> Iterable[Any]:
        from normbench.display.sweeps import sweep

        return [sweep(cast(Any, self))]

    def rows(self) -> Sequence[Mapping[str, Any]]:
        return cast(Sequence[Mapping[str, Any]], self["cells"])


class ShownReportCard(ShownAnswer):
    """Report card: a row for each finding of an analysis, then a row for each leaderboard."""

    def parts(self) -> Iterable[Any]:
        from normbench.display.report_card import render_report_card

        return render_report_card(cast(Any, self))

    def rows(self) -> Sequence[Mapping[str, Any]]:
        analyses = [(None, "invariances", self["invariances"])]
        analyses += [(cell, name, found) for cell, of_cell in self["cells"].items() for name, found in of_cell.items()]
        findings = [
            {"analysis": name, "cell": cell, "run_id": found["run_id"], **finding}
            for cell, name, found in analyses
            if found
            for finding in found["findings"]
        ]
        return findings + [{"analysis": "standing", **standing} for standing in self["standings"]]


class ShownPlan(ShownAnswer):
    """Plan of an experiment or a sweep, in one row."""

    def parts(self) -> Iterable[Any]:
        from normbench.display import experiments, sweeps

        return [sweeps.plan(cast(Any, self)) if "cells" in self else experiments.plan(cast(Any, self))]

    def rows(self) -> Sequence[Mapping[str, Any]]:
        return [self]


class ShownFigure(dict[str, Any]):
    """Figure as Plotly JSON, which notebooks with Plotly draw."""

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        from normbench.display.html import to_html

        told = "A figure of Plotly. To see it here: pip install plotly, and restart the notebook's server."
        return {"application/vnd.plotly.v1+json": dict(self), "text/html": to_html([told]), "text/plain": told}


class ShownList(list[dict[str, Any]]):
    """List of answers: a row for each."""

    def to_frame(self) -> "DataFrame":
        """Make a data frame. Nested fields have dotted names.

        Raises:
            Missing: pandas is not installed.
        """
        return frames.frame(self)

    def _repr_html_(self) -> str:
        return _list_html(self)


class Pages(Iterator[Row]):
    """Iterator over the rows of a list. It asks for pages as they are needed, and can be read once."""

    def __init__(self, rows: Iterator[Row], what: str) -> None:
        self._rows, self._what = rows, what

    def __next__(self) -> Row:
        return next(self._rows)

    def to_frame(self, most: int = MOST_ROWS) -> "DataFrame":
        """Make a data frame of the next rows.

        Args:
            most: the largest number of rows.

        Raises:
            Missing: pandas is not installed.
        """
        return frames.frame(cast(Iterator[Mapping[str, Any]], islice(self, most)))

    def _repr_html_(self) -> str:
        from normbench.display.html import to_html

        return to_html([f"An iterator over {self._what}, newest first. list(…) gets all, .to_frame() a data frame."])


def _list_html(rows: Sequence[Mapping[str, Any]]) -> str:
    """HTML of a list: its fields that are text, numbers, or true or false."""
    from normbench.display.html import to_html
    from normbench.display.table import Column, Table

    names = dict.fromkeys(name for row in rows for name, value in row.items() if isinstance(value, SCALARS))
    cells = [[row.get(name) if isinstance(row.get(name), SCALARS) else "…" for name in names] for row in rows]
    return to_html([Table(f"{len(rows):,} in the list", [Column(name) for name in names], cells)])


def _without(fields: Mapping[str, Any], names: frozenset[str]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name not in names}
