"""Runs of the benchmarks below take less than two gigabytes of memory in the profile ``small``."""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.warm_python import WarmPython, warm_python

TASKS = ("attentive_reader", "draw", "handwriting", "order_embedding", "skip_thoughts")
RUN = """
import json, re, sys
from pathlib import Path
import normcore.downstream
from normcore.events import Evaluating, Finished
from normcore.spec import resolve
from normcore.training.loop import train

of_pairs = sys.modules["normcore.downstream.relatedness"]
of_pairs.EPOCHS = of_pairs.MAX_ROUNDS = 1  # each epoch takes the same memory

def peak(spec):
    for event in train(spec, 0, device="cpu", datasets_dir=Path(sys.argv[2]), threads=1):
        if isinstance(event, Evaluating) and event.phase == "test" and spec.task.name == "skip_thoughts":
            break  # its test takes thousands of regressions, each as large as those of the validation
    else:
        assert isinstance(event, Finished) and event.result.value is not None
        for make in (event.model, *event.artifacts.values()):
            make()
    return int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])

print(peak(resolve(json.loads(sys.argv[1]))))
"""


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmPython]:
    modules = ["normcore.training.loop", "normcore.downstream"]
    with warm_python(modules, os.environ, tmp_path_factory.mktemp("python")) as process:
        yield process


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("task", TASKS)
def test_peak_memory_is_below_two_gigabytes(task: str, python: WarmPython, datasets_dir: Path, tmp_path: Path) -> None:
    spec = {
        "task": {"name": task, "profile": "small"},
        "norm": {"method": "layer_norm"},
        "training": {"max_steps": 3, "eval_every": 3},
    }
    kilobytes = int(python.run(tmp_path, "-c", RUN, json.dumps(spec), str(datasets_dir)))
    assert 100_000 < kilobytes < 2_000_000_000 / 1024
