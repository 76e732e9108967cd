"""Runs of the benchmarks below take less than two gigabytes of memory in the profile ``small``."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

RUN = """
import json, re, sys
from pathlib import Path
from normcore.events import Finished, Measured
from normcore.run import run
from normcore.spec import resolve
spec = resolve(json.loads(sys.argv[1]))
for event in run(spec, 0, device="cpu", datasets_dir=Path(sys.argv[2]), threads=1):
    if isinstance(event, Measured) and spec.task.name == "skip_thoughts":
        break  # its test takes thousands of regressions, each as large as those of this validation
else:
    assert isinstance(event, Finished) and event.result.value is not None
    for make in (event.model, *event.artifacts.values()):
        make()
print(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize("task", ["attentive_reader", "draw", "handwriting", "order_embedding", "skip_thoughts"])
def test_peak_memory_is_below_two_gigabytes(task: str, datasets_dir: Path) -> None:
    spec = {
        "task": {"name": task, "profile": "small"},
        "norm": {"method": "layer_norm"},
        "training": {"max_steps": 3, "eval_every": 3},
    }
    arguments = [json.dumps(spec), str(datasets_dir)]
    done = subprocess.run([sys.executable, "-c", RUN, *arguments], capture_output=True, text=True, check=True)
    assert 100_000 < int(done.stdout) < 2_000_000_000 / 1024
