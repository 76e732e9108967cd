"""The library works where the wheel was installed with the extra ``nn`` alone."""

import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path
from zipfile import ZipFile

from packaging.requirements import Requirement

from tests.test_wheel import build_wheel

TRAIN = """
import sys
sys.path.insert(0, sys.argv[1])
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
assert all(path == sys.argv[1] or "site-packages" not in path for path in sys.path), sys.path
"""
PREPARE = """
import sys
sys.path.insert(0, sys.argv.pop())
from workers.kernels import main

sys.argv += ["--device", "cpu"]
sys.exit(main())
"""


def required(name: str, extra: str) -> set[str]:
    """Names of all distributions that a distribution with an extra requires, without itself."""
    found, left = set[str](), [(name, extra)]
    while left:
        of, its_extra = left.pop()
        for line in distribution(of).requires or []:
            requirement = Requirement(line)
            if requirement.marker is None or requirement.marker.evaluate({"extra": its_extra}):
                news = {(requirement.name, its) for its in requirement.extras or {""}} - {
                    (known, "") for known in found
                }
                left += sorted(news)
                found.add(requirement.name)
    return found - {name}


def test_wheel_with_the_extra_nn_trains_beside_torch(tmp_path: Path) -> None:
    site = tmp_path / "site"
    with ZipFile(build_wheel(tmp_path)) as wheel:
        wheel.extractall(site)
    needed = required("normbench", "nn")
    assert {"torch", "filelock", "platformdirs"} <= needed
    assert not {"fastapi", "sqlalchemy", "celery", "scipy", "numpy"} & needed
    for name in needed:
        for file in distribution(name).files or ():
            top = file.parts[0]
            if top != ".." and not (site / top).exists():
                (site / top).symlink_to(Path(str(distribution(name).locate_file(top))))
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", TRAIN, str(site)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    prepared = subprocess.run(
        [sys.executable, "-I", "-S", "-c", PREPARE, str(site)], capture_output=True, text=True, check=False
    )
    assert prepared.stdout == "the fused kernels are ready on cpu\n", prepared.stderr
