"""Time until a sweep of 1,000 runs is accepted over HTTP, and time to read a sweep of 999 measured cells.

Accepted means committed and answered with all cells. ``normbench api`` runs on SQLite, which commits with
``synchronous=FULL``, and on PostgreSQL. Every sweep has new draws, so no run is reused.
"""

import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks import leaderboard, ours
from benchmarks.load import Connection, Request, get, post
from benchmarks.number import Number, Target, number
from tests.servers import private_postgres

ROUNDS = 10
RATE = "training.optimizer.lr"
SHAPES = {"1,000 experiments of one seed": (1000, 1), "100 experiments of 10 seeds": (100, 10)}
SPEC = {"task": {"name": "permuted_digits", "profile": "small"}, "norm": {"method": "layer_norm"}, "device": "cuda"}


def measure(scratch: Path) -> list[Number]:
    with _on_postgres(scratch / "postgresql") as postgres, ours.api(scratch / "sqlite") as sqlite:
        ports = {"SQLite": sqlite, "PostgreSQL": postgres}
        accepted = [
            number(f"sweeps: {shape}, {name}", "s", seconds, target=Target("ours", "under", 1))
            for shape, of_database in _accepted(ports).items()
            for name, seconds in of_database.items()
        ]
    return [*accepted, _looked_at(scratch / "measured")]


@contextmanager
def _on_postgres(folder: Path) -> Iterator[int]:
    with private_postgres() as url, ours.api(folder, database_url=url) as port:
        yield port


def _accepted(ports: Mapping[str, int]) -> dict[str, dict[str, list[float]]]:
    """Seconds to accept a sweep, by shape and database, in turns. The first round fills caches and is left out."""
    connections = {name: Connection(port) for name, port in ports.items()}
    seconds: dict[str, dict[str, list[float]]] = {shape: {name: [] for name in ports} for shape in SHAPES}
    sampler_seeds = itertools.count()
    for turn in range(ROUNDS + 1):
        for shape, (cells, seeds) in SHAPES.items():
            for name, connection in connections.items():
                taken = connection.timed(_sweep(cells, seeds, next(sampler_seeds)))
                seconds[shape][name] += [taken] if turn else []
    return seconds


def _sweep(cells: int, seeds: int, sampler_seed: int) -> Request:
    drawn: dict[str, Any] = {
        "spec": {**SPEC, "seeds": list(range(seeds))},
        "random": {RATE: {"log_uniform": [1e-5, 1e-1]}},
        "samples": cells,
        "sampler_seed": sampler_seed,
    }
    return post("/v1/sweeps", drawn)


def _looked_at(folder: Path) -> Number:
    leaderboard.fill(leaderboard.on_sqlite(folder), leaderboard.SMALL).close()
    rates = [k * 1e-5 for k in range(1, leaderboard.ENTRIES // len(leaderboard.METHODS) + 1)]
    task, optimizer = SPEC["task"], {"name": "rmsprop", "lr": rates[0]}
    grid = {"norm.method": list(leaderboard.METHODS), RATE: rates}
    with ours.api(folder) as port:
        connection = Connection(port)
        spec = {"task": task, "training": {"optimizer": optimizer}}
        sweep = connection.json(post("/v1/sweeps", {"spec": spec, "grid": grid, "reuse": False}))
        look = get(f"/v1/sweeps/{sweep['id']}")
        if not all(cell["entry"] for cell in connection.json(look)["cells"]):
            raise RuntimeError("a cell of the sweep has no entry; every cell is measured and must have one")
        milliseconds = [1000 * connection.timed(look) for _ in range(ROUNDS)]
    return number(f"sweeps: a look at {len(sweep['cells'])} measured cells", "ms", milliseconds)
