"""Answers as pandas data frames. pandas is an optional package."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from normbench.answers import Leaderboard
from normbench.errors import Missing

if TYPE_CHECKING:
    from pandas import DataFrame

    from normbench.client import Client

MEASUREMENT_COLUMNS = ["experiment_id", "run_id", "method", "name", "seed", "series", "step", "value", "seconds"]


def measurements(client: "Client", id: str, series: Sequence[str]) -> "DataFrame":
    """Data frame of measurements: one row for each value that the run, or a run of the experiment, measured."""
    pandas = _pandas()
    runs = client.experiment(id)["runs"] if id.startswith("exp_") else [client.run(id)]
    experiment = client.experiment(runs[0]["experiment_id"])
    norm = experiment["spec"]["norm"]
    rows = [
        (run["experiment_id"], run["id"], norm and norm["method"], experiment["name"], run["seed"], name, *point)
        for run in runs
        for name, curve in client.measurements(run["id"], series=series).items()
        for point in curve["points"]
    ]
    return pandas.DataFrame(rows, columns=MEASUREMENT_COLUMNS)


def leaderboard(board: Leaderboard) -> "DataFrame":
    """Data frame of a leaderboard: one row for each entry. Nested fields have dotted names."""
    return _pandas().json_normalize(board["entries"])


def _pandas() -> Any:
    try:
        import pandas
    except ImportError:
        raise Missing("data frames need pandas; get it with: pip install pandas") from None
    return pandas
