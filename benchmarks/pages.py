"""Time of each page with 100,000 runs on SQLite: when it is made for the first time, and when it is asked for again.

The database is that of ``scale`` with short curves, and a group's month from ``tests.service.pages.real_size``: a
board of 1,000 entries and one of 63, a sweep of 100 cells, an experiment of 100 seeds. Cold: the first answer of an API
that has just started, and has answered one other page. Warm: later answers of the same API.
"""

from collections.abc import Mapping
from pathlib import Path

from benchmarks import leaderboard, ours, scale
from benchmarks.load import Connection, get
from benchmarks.number import Number, Target, number
from service.processes.startup import prepare
from tests.service.pages import real_size

STARTS, ROUNDS = 3, 20
STEPS = 5  # measurements of each series of a run
COLD, WARM = 150, 30  # milliseconds
UNMEASURED = "/tasks/feedforward"  # the page that an API answers before any other


def measure(scratch: Path) -> list[Number]:
    """Measure every page of one database."""
    folder = scratch / "pages"
    paths = fill(folder)
    cold: dict[str, list[float]] = {name: [] for name in paths}
    warm: dict[str, list[float]] = {name: [] for name in paths}
    for _ in range(STARTS):
        with ours.api(folder) as port:
            connection = Connection(port)
            connection.send(get(UNMEASURED))
            for name, path in paths.items():
                cold[name].append(1000 * connection.timed(get(path)))
            for name, path in paths.items():
                warm[name] += [1000 * connection.timed(get(path)) for _ in range(ROUNDS)]
            connection.close()
    numbers = []
    for name in paths:
        numbers.append(number(f"page {name}, cold", "ms", cold[name], target=Target("ours", "under", COLD)))
        numbers.append(number(f"page {name}, warm", "ms", warm[name], target=Target("ours", "under", WARM)))
    return numbers


def fill(folder: Path, experiments: int = scale.WHOLE) -> Mapping[str, str]:
    """Make the database of a data directory; return the paths of all pages by name.

    Args:
        experiments: experiments of each of the 1,000 entries, with ten runs each.
    """
    settings = leaderboard.on_sqlite(folder)
    filled = scale.fill(folder, settings.database_url, experiments, steps=STEPS)
    db = prepare(settings)
    found = real_size.fill(db)
    db.close()
    first, second = filled.fingerprints
    return {
        "overview": "/",
        "boards": "/boards",
        "board": "/boards/permuted_digits?profile=small",
        "board of all entries": "/boards/permuted_digits?profile=small&entries=all",
        "board by seconds": "/boards/permuted_digits?profile=small&rank_by=seconds_to_target",
        "comparison": f"/compare?fingerprint={first}&fingerprint={second}",
        "experiments": "/experiments",
        "experiments by value": "/experiments?order=value",
        "experiments with a text": "/experiments?q=mira",
        "failed experiments": "/experiments?state=failed",
        "experiment": f"/experiments/{filled.experiment}",
        "experiment of 100 seeds": f"/experiments/{found['many seeds']}",
        "run": f"/runs/{filled.run}",
        "sweeps": "/sweeps",
        "sweep of 100 cells": f"/sweeps/{found['sweep']}",
        "methods": "/methods",
        "method": "/methods/layer_norm",
        "tasks": "/tasks",
        "task": "/tasks/permuted_digits",
        "submit": "/submit?task=permuted_digits&profile=small&method=layer_norm",
        "workers": "/workers",
    }
