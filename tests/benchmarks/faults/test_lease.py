"""The harness can fail: the same short run passes as the service is, and is caught with its lease broken on purpose."""

from pathlib import Path

import pytest

from benchmarks import faults
from benchmarks.faults.scenario import Kind, Load, Size
from benchmarks.number import promises_kept

TRAINING = {
    "task": {"name": "char_lm", "profile": "smoke"},
    "norm": {"method": "none"},
    "training": {"max_steps": 300, "eval_every": 10},
    "device": "cpu",
}
ONE_FROZEN_WORKER = Size(
    faults={"up": {Kind.FROZEN: 1}},
    loads=[Load(TRAINING, 0)],
    seconds=60.0,
    settings={"lease_seconds": "2", "heartbeat_seconds": "0.5", "checkpoint_seconds": "0.2"},
)


@pytest.mark.parametrize("break_lease", [False, True])
def test_a_worker_that_was_overtaken_writes_only_where_the_lease_is_broken(break_lease: bool, tmp_path: Path) -> None:
    numbers = faults.run(tmp_path, ONE_FROZEN_WORKER, break_lease=break_lease)
    ours = {number.name: number.ours for number in numbers}
    assert ours["faults, up: inflicted"] == 1
    assert (ours["faults, up: runs doubled"] > 0) is break_lease
    assert promises_kept(numbers) is not break_lease
