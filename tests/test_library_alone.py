"""The library works where the wheel was installed with the extra ``nn`` alone."""

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.test_wheel import build_wheel

TRAIN = """
import torch
from normcore.nn import LSTM

torch.manual_seed(0)
x, target = torch.randn(20, 8, 4), torch.randn(20, 8, 6)
plain = torch.nn.LSTM(4, 6)
ours = LSTM(4, 6)
ours.load_state_dict(plain.state_dict())
losses = []
for layer in (plain, ours, LSTM(4, 6, norm="layer_norm")):
    optimizer = torch.optim.SGD(layer.parameters(), 0.1)
    losses.append([])
    for _ in range(5):
        optimizer.zero_grad()
        loss = (layer(x)[0] - target).square().mean()
        loss.backward()
        optimizer.step()
        losses[-1].append(loss.item())
assert max(abs(a - b) for a, b in zip(*losses[:2])) < 1e-5, losses
assert losses[2][-1] < losses[2][0], losses
"""


@pytest.mark.installs
def test_wheel_with_the_extra_nn_trains_in_an_environment_of_its_own(tmp_path: Path) -> None:
    wheel = build_wheel(tmp_path)
    environment = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    torch = f"torch=={version('torch').partition('+')[0]}"  # the tests' own, not the newest with its CUDA
    run_alone(environment, "-m", "pip", "install", "--quiet", torch, f"{wheel}[nn]")
    installed = json.loads(run_alone(environment, "-m", "pip", "list", "--format", "json"))
    names = {one["name"] for one in installed}
    assert {"torch", "normbench", "filelock"} <= names
    assert not {"fastapi", "sqlalchemy", "celery", "scipy", "numpy"} & names
    run_alone(environment, "-c", TRAIN)
    assert run_alone(environment, "-m", "workers.kernels", "--device", "cpu") == "the fused kernels are ready on cpu\n"


def run_alone(environment: Path, *arguments: str) -> str:
    """Run Python of an environment, without any path of the tests; return what it prints."""
    python = environment / "bin" / "python"
    done = subprocess.run([python, "-I", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout
