"""Runs of the benchmarks below take less than two gigabytes of memory in the profile ``small``."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

TASKS = ("attentive_reader", "draw", "handwriting", "order_embedding", "skip_thoughts")
RUN = """
import json, os, re, sys
from pathlib import Path
import normcore.downstream
from normcore.events import Evaluating, Finished
from normcore.spec import resolve
from normcore.training.loop import train

sys.modules["normcore.downstream.relatedness"].EPOCHS = 1  # each epoch takes the same memory

def peak(spec):
    for event in train(spec, 0, device="cpu", datasets_dir=Path(sys.argv[2]), threads=1):
        if isinstance(event, Evaluating) and event.phase == "test" and spec.task.name == "skip_thoughts":
            break  # its test takes thousands of regressions, each as large as those of the validation
    else:
        assert isinstance(event, Finished) and event.result.value is not None
        for make in (event.model, *event.artifacts.values()):
            make()
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])

for written in json.loads(sys.argv[1]):
    spec = resolve(written)
    if os.fork():
        assert os.wait()[1] == 0, spec.task.name
    else:
        print(json.dumps({spec.task.name: peak(spec)}), flush=True)
        os._exit(0)
"""


@pytest.fixture(scope="module")
def peaks(datasets_dir: Path) -> dict[str, int]:
    """Most kB of each benchmark's run, in a process of its own that a process with all imports forks."""
    specs = [
        {
            "task": {"name": task, "profile": "small"},
            "norm": {"method": "layer_norm"},
            "training": {"max_steps": 3, "eval_every": 3},
        }
        for task in TASKS
    ]
    arguments = [json.dumps(specs), str(datasets_dir)]
    done = subprocess.run([sys.executable, "-c", RUN, *arguments], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {task: kilobytes for line in done.stdout.splitlines() for task, kilobytes in json.loads(line).items()}


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("task", TASKS)
def test_peak_memory_is_below_two_gigabytes(task: str, peaks: dict[str, int]) -> None:
    assert 100_000 < peaks[task] < 2_000_000_000 / 1024
