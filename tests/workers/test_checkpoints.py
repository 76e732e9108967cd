"""Which checkpoints are written, kept and gone on from."""

from pathlib import Path

import pytest

from service.artifacts import Artifacts
from workers.checkpoints import Checkpoints


@pytest.fixture
def store(tmp_path: Path) -> Artifacts:
    return Artifacts(str(tmp_path))


def names(store: Artifacts) -> list[str]:
    return [artifact.name for artifact in store.list("run_1")]


def test_the_first_is_due_once_something_was_measured(store: Artifacts) -> None:
    checkpoints = Checkpoints(store, "run_1", every_seconds=1e9)
    assert not checkpoints.is_due(measured=False)
    assert checkpoints.is_due(measured=True)
    checkpoints.write(11, b"state")
    assert not checkpoints.is_due(measured=True)


def test_one_is_due_whenever_the_time_is_over(store: Artifacts) -> None:
    assert Checkpoints(store, "run_1", every_seconds=1e-9).is_due(measured=False)


def test_the_newest_two_are_kept(store: Artifacts) -> None:
    checkpoints = Checkpoints(store, "run_1", every_seconds=1)
    for step in (9, 10, 100):
        checkpoints.write(step, str(step).encode())
    assert [content for _, content in checkpoints.newest_first()] == [b"100", b"10"]


def test_clearing_leaves_other_files_alone(store: Artifacts) -> None:
    checkpoints = Checkpoints(store, "run_1", every_seconds=1)
    checkpoints.write(1, b"state")
    store.write("run_1", "model.pt", b"weights")
    checkpoints.clear()
    assert names(store) == ["model.pt"]


def test_another_runs_checkpoints_are_not_ours(store: Artifacts) -> None:
    Checkpoints(store, "run_2", every_seconds=1).write(1, b"theirs")
    assert list(Checkpoints(store, "run_1", every_seconds=1).newest_first()) == []
