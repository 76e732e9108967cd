"""A sweep that is trained for real, by a worker's executor."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from service.db import Database
from service.experiments.tables import Run
from service.processes.scheduler import look
from service.queue import Notifier, make_celery
from service.settings import Settings, read_settings
from tests.service.sweeps.sample_sweeps import posted, shown, stored
from workers.node import identify
from workers.settings import WorkerSettings
from workers.tasks import Executor

GAINS: dict[str, list[Any]] = {"norm.method": ["layer_norm"], "norm.gain_init": [0.1, 1.0]}


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_an_adaptive_sweep_is_trained_and_gets_seeds_while_its_order_is_open(
    db: Database, settings: Settings, tmp_path: Path
) -> None:
    of_worker = read_settings(WorkerSettings, data_dir=tmp_path)
    notifier = Notifier(make_celery(of_worker))
    executor = Executor(db, of_worker, identify("cpu", "wrk_1"), notifier)
    sweep_id = stored(db, posted(GAINS, adaptive=True))
    for _ in range(6):
        executor.execute_next()
    measured = shown(db, sweep_id)
    assert (measured.state, measured.progress.done, measured.progress.total) == ("running", 6, 6)
    assert all(cell.entry is not None and cell.entry.n_seeds == 3 for cell in measured.cells)
    assert len(look(db, settings)) == 2
    for _ in range(2):
        executor.execute_next()
    notifier.close()
    assert [cell.seeds for cell in shown(db, sweep_id).cells] == [[0, 1, 2, 3]] * 2
    with db.snapshot() as session:
        assert set(session.scalars(select(Run.state))) == {"succeeded"}
    again = shown(db, stored(db, posted(GAINS, adaptive=True)))
    assert (again.reused_runs, again.n_runs) == (6, 6), "this code has measured them"
