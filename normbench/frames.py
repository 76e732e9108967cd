"""Answers as pandas data frames. pandas is an optional package."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from normbench.errors import Invalid, Missing

if TYPE_CHECKING:
    from pandas import DataFrame

    from normbench.client import Client
    from normbench.shown_answers import Experiment, Leaderboard

MEASUREMENT_COLUMNS = ["experiment_id", "run_id", "method", "name", "seed", "series", "step", "value", "seconds"]


def frame(rows: Iterable[Mapping[str, Any]]) -> "DataFrame":
    """Data frame of rows. Nested fields have dotted names."""
    return _pandas().json_normalize(list(rows))


def measurements(client: "Client", id: str, series: Sequence[str]) -> "DataFrame":
    """Data frame of measurements: one row for each value that the run, or a run of the experiment, measured."""
    pandas = _pandas()
    run_ids = None if id.startswith("exp_") else {id}
    experiment = client.experiment(id if run_ids is None else client.run(id)["experiment_id"])
    runs = [run["id"] for run in experiment["runs"] if run_ids is None or run["id"] in run_ids]
    return pandas.DataFrame(_rows(client, experiment, runs, series, None), columns=MEASUREMENT_COLUMNS)


def curves(
    client: "Client",
    of: Sequence[str | Mapping[str, Any]],
    series: Sequence[str] | None,
    max_points: int | None,
    max_runs: int,
) -> "DataFrame":
    """Data frame of the curves of boards, sweeps and experiments. Arguments and errors are those of the client's call.

    Each experiment is asked for once, and each of its runs once.
    """
    pandas = _pandas()
    named: dict[str, tuple[str, ...]] = {}
    for one in of:
        for experiment_id, wanted in _experiments(client, one):
            named.setdefault(experiment_id, wanted if series is None else tuple(series))
    if len(named) > max_runs:
        raise Invalid(_too_many(len(named), "experiments", max_runs))
    experiments = [client.experiment(id) for id in named]
    counted = {e["id"]: [run["id"] for run in e["runs"] if not run.get("of_older_code")] for e in experiments}
    runs = sum(map(len, counted.values()))
    if runs > max_runs:
        raise Invalid(_too_many(runs, "runs", max_runs))
    rows = [
        row
        for experiment in experiments
        for row in _rows(client, experiment, counted[experiment["id"]], named[experiment["id"]], max_points)
    ]
    return pandas.DataFrame(rows, columns=MEASUREMENT_COLUMNS)


def leaderboard(board: "Leaderboard") -> "DataFrame":
    """Data frame of a leaderboard: one row for each entry. Nested fields have dotted names."""
    return frame(board["entries"])


def _experiments(client: "Client", one: str | Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the ids of the experiments of a board, a sweep or an experiment, each with the series that ranks.

    Raises:
        Invalid: the value is nothing that has curves.
    """
    found: Mapping[str, Any] = client.sweep(one) if isinstance(one, str) and one.startswith("swp_") else {}
    found = one if isinstance(one, Mapping) else found
    if "entries" in found or "cells" in found:
        ranked = (f"valid.{found['metric']}",) if found["metric"] else ()
        for entry in found.get("entries", ()):
            yield from ((id, ranked) for id in entry.get("experiments") or ())
        yield from ((cell["experiment_id"], ranked) for cell in found.get("cells", ()))
    elif "runs" in found:
        yield found["id"], ()
    elif isinstance(one, str) and one.startswith("exp_"):
        yield one, ()
    else:
        raise Invalid(f"{one!r:.60} has no curves; give a board, a sweep, or ids such as exp_\u2026 and swp_\u2026")


def _too_many(number: int, noun: str, most: int) -> str:
    return f"{number:,} {noun} have curves, which takes as many requests; write max_runs={number} (it is {most:,})"


def _rows(
    client: "Client", experiment: "Experiment", run_ids: Iterable[str], series: Sequence[str], max_points: int | None
) -> list[tuple[Any, ...]]:
    """Rows of the curves of an experiment's runs: one for each point."""
    norm = experiment["spec"]["norm"]
    seeds = {run["id"]: run["seed"] for run in experiment["runs"]}
    return [
        (experiment["id"], id, norm and norm["method"], experiment["name"], seeds[id], name, *point)
        for id in run_ids
        for name, curve in client.measurements(id, series=series, max_points=max_points).items()
        for point in curve["points"]
    ]


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise Missing("data frames need pandas; get it with: pip install pandas") from None
    return pandas
