"""Answers that show themselves in a notebook, and that become data frames.

They are dictionaries and lists. Each class states the types of its fields, as a TypedDict cannot have methods. The
display is the same as that of the command line.
"""

# mypy: disable-error-code="override"
# A dictionary takes any text as a key, and these classes only the names of their fields.

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, cast, overload

from normbench import frames
from normbench.answers import (
    BudgetFlip,
    Entry,
    LeftOut,
    Memory,
    Problem,
    RankBy,
    Run,
    SetAside,
    Spec,
    State,
    SweepCell,
    SweepProgress,
    SweptTask,
    TimeBy,
    Verdict,
)

if TYPE_CHECKING:
    from pandas import DataFrame

MOST_ROWS = 1000  # of a data frame of a list that has pages
SCALARS = (str, int, float, bool, type(None))
Row = TypeVar("Row")


class ShownAnswer(dict[str, Any]):
    """Answer that is a dictionary.

    A subclass has the types of its fields, names its parts on a page, and its rows in a data frame.
    """

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


class Leaderboard(ShownAnswer):
    """Leaderboard of one problem of a task at one profile, best entry first.

    ``verdict`` says in words which entry wins. ``set_aside`` counts the entries of older code.
    """

    @overload
    def __getitem__(self, key: Literal["task", "profile", "metric", "unit", "baseline"], /) -> str: ...
    @overload
    def __getitem__(self, key: Literal["problem"], /) -> Problem: ...
    @overload
    def __getitem__(self, key: Literal["problems"], /) -> list[Problem]: ...
    @overload
    def __getitem__(self, key: Literal["direction"], /) -> Literal["maximize", "minimize"]: ...
    @overload
    def __getitem__(self, key: Literal["target"], /) -> float | None: ...
    @overload
    def __getitem__(self, key: Literal["budget"], /) -> int: ...
    @overload
    def __getitem__(self, key: Literal["hardware", "as_of"], /) -> str | None: ...
    @overload
    def __getitem__(self, key: Literal["rank_by"], /) -> RankBy: ...
    @overload
    def __getitem__(self, key: Literal["entries"], /) -> list[Entry]: ...
    @overload
    def __getitem__(self, key: Literal["set_aside"], /) -> SetAside | None: ...
    @overload
    def __getitem__(self, key: Literal["verdict"], /) -> Verdict | None: ...
    def __getitem__(self, key: str, /) -> Any:
        return super().__getitem__(key)

    def parts(self) -> Iterable[Any]:
        from normbench.display.leaderboard import leaderboard

        return [leaderboard(self)]

    def rows(self) -> Sequence[Mapping[str, Any]]:
        return cast(Sequence[Mapping[str, Any]], self["entries"])


class Overall(ShownAnswer):
    """Overall leaderboard: methods over all tasks at one profile, the largest area first.

    ``caution`` says which conclusion the ranks do not allow.
    """

    @overload
    def __getitem__(self, key: Literal["profile", "caution"], /) -> str: ...
    @overload
    def __getitem__(self, key: Literal["rank_by"], /) -> TimeBy: ...
    @overload
    def __getitem__(self, key: Literal["widest"], /) -> float: ...
    @overload
    def __getitem__(self, key: Literal["tasks", "methods"], /) -> list[dict[str, Any]]: ...
    @overload
    def __getitem__(self, key: Literal["left_out"], /) -> list[LeftOut]: ...
    @overload
    def __getitem__(self, key: Literal["flips"], /) -> list[list[str]]: ...
    def __getitem__(self, key: str, /) -> Any:
        return super().__getitem__(key)

    def parts(self) -> Iterable[Any]:
        from normbench.display.overall import overall

        return [overall(self)]

    def rows(self) -> Sequence[Mapping[str, Any]]:
        return cast(Sequence[Mapping[str, Any]], self["methods"])


class Comparison(ShownAnswer):
    """Comparison of entries of one board. ``baseline`` is the fingerprint of the entry that others are compared with.

    ``score``, ``n_diverged``, ``over_budget``, ``rank``, ``rank_ci``, ``tie_group`` and ``above`` (Holm-adjusted p by
    fingerprint) place an entry among the entries compared. ``outcome``, and ``p_holm`` of its ``difference``, compare
    it with the baseline.
    """

    @overload
    def __getitem__(self, key: Literal["task", "profile", "baseline", "series", "unit"], /) -> str: ...
    @overload
    def __getitem__(self, key: Literal["problem"], /) -> Problem: ...
    @overload
    def __getitem__(self, key: Literal["direction"], /) -> Literal["maximize", "minimize"] | None: ...
    @overload
    def __getitem__(self, key: Literal["target"], /) -> float | None: ...
    @overload
    def __getitem__(self, key: Literal["entries"], /) -> list[dict[str, Any]]: ...
    def __getitem__(self, key: str, /) -> Any:
        return super().__getitem__(key)

    curves: ClassVar = frozenset({"curve", "curve_by_seconds", "runs", "survival"})

    def parts(self) -> Iterable[Any]:
        from normbench.display.comparison import comparison

        return [comparison(self)]

    def rows(self) -> Sequence[Mapping[str, Any]]:
        return [_without(entry, self.curves) for entry in self["entries"]]


class Experiment(ShownAnswer):
    """Experiment with its runs, in the order of its seeds.

    ``name`` is the method with the options that differ from the profile, or with the cell of an analysis. ``sweep_id``
    is None if the experiment belongs to no sweep. ``problem`` and ``budget`` are those of the experiment's board, None
    for an analysis.
    """

    @overload
    def __getitem__(self, key: Literal["id", "fingerprint", "created_at"], /) -> str: ...
    @overload
    def __getitem__(self, key: Literal["name", "problem", "sweep_id"], /) -> str | None: ...
    @overload
    def __getitem__(self, key: Literal["state"], /) -> State: ...
    @overload
    def __getitem__(self, key: Literal["budget"], /) -> int | None: ...
    @overload
    def __getitem__(self, key: Literal["spec"], /) -> Spec: ...
    @overload
    def __getitem__(self, key: Literal["runs"], /) -> list[Run]: ...
    def __getitem__(self, key: str, /) -> Any:
        return super().__getitem__(key)

    long: ClassVar = frozenset({"environment", "history", "timing"})

    def parts(self) -> Iterable[Any]:
        from normbench.display.experiments import runs

        labels = self["spec"].get("labels") or {}
        return [runs(self), *([", ".join(f"{k}: {v}" for k, v in labels.items())] if labels else [])]

    def rows(self) -> Sequence[Mapping[str, Any]]:
        named = {"name": self["name"], "fingerprint": self["fingerprint"]}
        return [named | _without(run, self.long) for run in self["runs"]]


class Sweep(ShownAnswer):
    """Sweep with its cells.

    ``budget_curve`` has a list of [k, mean, low, high] for each method: the expected test value of the best of k of its
    cells, chosen by validation. ``budget_flips`` says where the curves of two methods cross. ``metric``, ``unit`` and
    ``direction`` are None if the cells cannot be compared. ``verdict`` says which cells tie for first, and which one to
    take.
    """

    @overload
    def __getitem__(self, key: Literal["id", "created_at"], /) -> str: ...
    @overload
    def __getitem__(self, key: Literal["state"], /) -> State: ...
    @overload
    def __getitem__(self, key: Literal["tasks"], /) -> list[SweptTask]: ...
    @overload
    def __getitem__(self, key: Literal["n_experiments", "n_runs", "reused_runs"], /) -> int: ...
    @overload
    def __getitem__(self, key: Literal["n_diverged", "sampler_seed"], /) -> int: ...
    @overload
    def __getitem__(self, key: Literal["progress"], /) -> SweepProgress: ...
    @overload
    def __getitem__(self, key: Literal["spec"], /) -> Spec: ...
    @overload
    def __getitem__(self, key: Literal["grid"], /) -> dict[str, list[Any]]: ...
    @overload
    def __getitem__(self, key: Literal["random"], /) -> dict[str, dict[str, list[Any]]]: ...
    @overload
    def __getitem__(self, key: Literal["samples"], /) -> int | None: ...
    @overload
    def __getitem__(self, key: Literal["reuse", "adaptive"], /) -> bool: ...
    @overload
    def __getitem__(self, key: Literal["metric", "unit"], /) -> str | None: ...
    @overload
    def __getitem__(self, key: Literal["direction"], /) -> Literal["maximize", "minimize"] | None: ...
    @overload
    def __getitem__(self, key: Literal["cells"], /) -> list[SweepCell]: ...
    @overload
    def __getitem__(self, key: Literal["best"], /) -> SweepCell | None: ...
    @overload
    def __getitem__(self, key: Literal["budget_curve"], /) -> dict[str, list[list[float]]]: ...
    @overload
    def __getitem__(self, key: Literal["budget_flips"], /) -> list[BudgetFlip]: ...
    @overload
    def __getitem__(self, key: Literal["verdict"], /) -> Verdict: ...
    def __getitem__(self, key: str, /) -> Any:
        return super().__getitem__(key)

    def parts(self) -> Iterable[Any]:
        from normbench.display.sweeps import sweep

        return [sweep(self)]

    def rows(self) -> Sequence[Mapping[str, Any]]:
        return cast(Sequence[Mapping[str, Any]], self["cells"])


class ReportCard(ShownAnswer):
    """Report card of a method: its results in analyses and tasks. ``missing`` are the specs still to be run."""

    @overload
    def __getitem__(self, key: Literal["method", "title", "citation"], /) -> str: ...
    @overload
    def __getitem__(self, key: Literal["invariances"], /) -> dict[str, Any] | None: ...
    @overload
    def __getitem__(self, key: Literal["cells"], /) -> dict[str, dict[str, Any]]: ...
    @overload
    def __getitem__(self, key: Literal["standings"], /) -> list[dict[str, Any]]: ...
    @overload
    def __getitem__(self, key: Literal["not_applicable"], /) -> dict[str, str]: ...
    @overload
    def __getitem__(self, key: Literal["missing"], /) -> list[Spec]: ...
    @overload
    def __getitem__(self, key: Literal["pending"], /) -> list[str]: ...
    def __getitem__(self, key: str, /) -> Any:
        return super().__getitem__(key)

    def parts(self) -> Iterable[Any]:
        from normbench.display.report_card import render_report_card

        return render_report_card(self)

    def rows(self) -> Sequence[Mapping[str, Any]]:
        analyses: list[tuple[str | None, str, dict[str, Any] | None]] = [(None, "invariances", self["invariances"])]
        analyses += [(cell, name, found) for cell, of_cell in self["cells"].items() for name, found in of_cell.items()]
        findings = [
            {"analysis": name, "cell": cell, "run_id": found["run_id"], **finding}
            for cell, name, found in analyses
            if found
            for finding in found["findings"]
        ]
        return findings + [{"analysis": "standing", **standing} for standing in self["standings"]]


class Plan(ShownAnswer):
    """Plan of an experiment: the runs, seconds and memory that submitting a spec would take.

    ``basis`` names the source of the seconds. ``code`` is the code of the API's machine, with the live workers that
    have other code. ``memory_bytes`` is the least that a run needs, and ``memory`` splits it by purpose.
    ``worker_memory_bytes`` is the most that a live worker gives to a run. Each is None if it is not known.
    A run fits on ``fitting_workers`` of ``live_workers``.
    """

    @overload
    def __getitem__(self, key: Literal["spec"], /) -> Spec: ...
    @overload
    def __getitem__(self, key: Literal["fingerprint"], /) -> str: ...
    @overload
    def __getitem__(self, key: Literal["name", "basis"], /) -> str | None: ...
    @overload
    def __getitem__(self, key: Literal["runs", "queue_position", "live_workers", "fitting_workers"], /) -> int: ...
    @overload
    def __getitem__(self, key: Literal["code"], /) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, key: Literal["measured_seeds"], /) -> list[int]: ...
    @overload
    def __getitem__(self, key: Literal["seconds_per_run", "total_seconds"], /) -> float | None: ...
    @overload
    def __getitem__(self, key: Literal["total_seconds_range"], /) -> list[float] | None: ...
    @overload
    def __getitem__(self, key: Literal["memory_bytes", "worker_memory_bytes"], /) -> int | None: ...
    @overload
    def __getitem__(self, key: Literal["memory"], /) -> Memory | None: ...
    def __getitem__(self, key: str, /) -> Any:
        return super().__getitem__(key)

    def parts(self) -> Iterable[Any]:
        from normbench.display.experiments import plan

        return [plan(self)]

    def rows(self) -> Sequence[Mapping[str, Any]]:
        return [self]


class SweepPlan(ShownAnswer):
    """Plan of a sweep: the experiments, runs and seconds that submitting it would take.

    ``total_seconds``, and ``basis``, which names their source, are None if nothing is known.
    """

    @overload
    def __getitem__(self, key: Literal["n_experiments", "n_runs", "most_runs", "reused_runs"], /) -> int: ...
    @overload
    def __getitem__(self, key: Literal["queue_position", "live_workers", "fitting_workers"], /) -> int: ...
    @overload
    def __getitem__(self, key: Literal["total_seconds"], /) -> float | None: ...
    @overload
    def __getitem__(self, key: Literal["basis"], /) -> str | None: ...
    @overload
    def __getitem__(self, key: Literal["memory_bytes", "worker_memory_bytes"], /) -> int | None: ...
    @overload
    def __getitem__(self, key: Literal["cells"], /) -> list[dict[str, Any]]: ...
    def __getitem__(self, key: str, /) -> Any:
        return super().__getitem__(key)

    def parts(self) -> Iterable[Any]:
        from normbench.display.sweeps import plan

        return [plan(self)]

    def rows(self) -> Sequence[Mapping[str, Any]]:
        return [self]


class ShownFigure(dict[str, Any]):
    """Figure as Plotly JSON, which notebooks with Plotly draw."""

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        from normbench.display.html import to_html

        told = "A figure of Plotly. To see it here: pip install plotly, and restart the notebook's server."
        return {"application/vnd.plotly.v1+json": dict(self), "text/html": to_html([told]), "text/plain": told}


class ShownList(list[Row]):
    """List of answers: a row for each."""

    def to_frame(self) -> "DataFrame":
        """Make a data frame. Nested fields have dotted names.

        Raises:
            Missing: pandas is not installed.
        """
        return frames.frame(cast(Sequence[Mapping[str, Any]], self))

    def _repr_html_(self) -> str:
        return _list_html(cast(Sequence[Mapping[str, Any]], self))


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
