"""The harness finds a lease that is broken on purpose. A brief run of the harness shows that the service passes."""

from pathlib import Path

from benchmarks import faults
from benchmarks.faults.scenario import Kind, Load, Size
from benchmarks.number import promises_kept

TRAINING = {
    "task": {"name": "char_lm", "profile": "smoke"},
    "norm": {"method": "none"},
    "training": {"max_steps": 500, "eval_every": 40, "kernel": "reference"},  # long enough to be frozen while it runs
    "device": "cpu",
}
ONE_FROZEN_WORKER = Size(
    faults={"up": {Kind.FROZEN: 1}},
    loads=[Load(TRAINING, 0)],
    seconds=60.0,
    settings={"lease_seconds": "2", "heartbeat_seconds": "0.5", "checkpoint_seconds": "0.2"},
)


def test_a_worker_that_was_overtaken_is_caught_writing_where_the_lease_is_broken(tmp_path: Path) -> None:
    numbers = faults.run(tmp_path, ONE_FROZEN_WORKER, seed=1, break_lease=True)  # the seed of a brief pause
    ours = {number.name: number.ours for number in numbers}
    assert ours["faults, up: inflicted"] == 1
    assert ours["faults, up: runs doubled"] > 0
    assert not promises_kept(numbers)
