"""Curves of boards, sweeps and experiments in one call."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from normbench import Client, Invalid
from service.db import Database
from service.experiments.lifecycle import ClaimedRun
from service.settings import Settings
from tests.service.live import live_api
from tests.service.sample_runs import begun, finished, measured, recorded, worker, written

SWEEP = {"spec": written("layer_norm", seeds=[0]), "grid": {"training.batch_size": [16, 24]}}


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """One database, since these tests are the same on every database."""
    return f"sqlite:///{tmp_path / 'normbench.db'}"


@pytest.fixture
def api(settings: Settings, db: Database) -> Iterator[Client]:
    """A service whose worker ends each run with twenty measurements."""

    def ended(db: Database, run: ClaimedRun) -> None:
        begun(db, run.lease)
        recorded(db, run.lease, *(measured(step) for step in range(1, 21)))
        finished(db, run.lease)

    with live_api(settings) as url, worker(db, partial(ended, db)), Client(url) as client:
        yield client


def test_curves_of_a_board_a_sweep_and_experiments_are_one_frame(api: Client) -> None:
    own = api.submit(written("none", seeds=[0, 1]))["id"]
    swept = api.submit_sweep(SWEEP)["id"]
    api.wait(own)
    sweep = api.wait_for_sweep(swept)
    frame = api.curves_frame(own, swept)
    cells = [cell["experiment_id"] for cell in sweep["cells"]]
    assert list(frame.columns) == list(api.measurements_frame(own).columns)
    assert dict(frame.groupby("experiment_id").size()) == {own: 40, **dict.fromkeys(cells, 20)}
    assert set(frame["series"]) == {"valid.accuracy"}
    board = api.leaderboard("permuted_digits", profile="smoke")
    assert board["entries"], "the runs are on the board"
    of_board = api.curves_frame(board, max_points=5)
    assert set(of_board["experiment_id"]) == {own, *cells}
    assert of_board.groupby("run_id").size().max() <= 5
    assert api.curves_frame(sweep).equals(api.curves_frame(swept))
    assert len(api.curves_frame(own, own, api.experiment(own))) == 40, "each experiment once"
    assert len(api.curves_frame(own, series=["valid.accuracy"])) == 40
    with pytest.raises(Invalid, match=r"no 'train\.loss'"):
        api.curves_frame(own, series=["train.loss"])


def test_more_runs_than_wanted_are_refused_with_their_number(api: Client) -> None:
    own = api.submit(written("none", seeds=[0, 1, 2]))["id"]
    with pytest.raises(Invalid, match=r"3 runs have curves.*max_runs=3"):
        api.curves_frame(own, max_runs=2)
    assert set(api.curves_frame(own, max_runs=3).columns)


@pytest.mark.parametrize("wrong", ["layer_norm", "run_01KAJ3V1Z8Q4N7M2X5C6B9D0EG", {"metric": 1}])
def test_what_has_no_curves_is_refused(api: Client, wrong: object) -> None:
    with pytest.raises(Invalid, match="has no curves; give a board, a sweep"):
        api.curves_frame(wrong)  # type: ignore[arg-type]
