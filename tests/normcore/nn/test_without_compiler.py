"""Layers on a machine without a compiler or without Triton run by the reference, and say so once."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from normcore import kernels
from normcore.nn import GRU, LSTM

USE = """
import torch
from normcore.nn import GRU, LSTM, RNN

torch.manual_seed(0)
x = torch.randn(5, 2, 3)
theirs = torch.nn.LSTM(3, 4)
ours = LSTM(3, 4)
ours.load_state_dict(theirs.state_dict())
torch.testing.assert_close(ours(x)[0], theirs(x)[0])
for layer in (LSTM(3, 4, norm="layer_norm"), GRU(3, 4, norm="rms_norm"), RNN(3, 4), LSTM(3, 4, num_layers=2)):
    by_reference = type(layer)(3, 4, layer.num_layers, norm=layer.norm, kernel="reference")
    by_reference.load_state_dict(layer.state_dict())
    assert torch.equal(layer(x)[0], by_reference(x)[0])
for kind in (LSTM, GRU):
    try:
        kind(3, 4, norm="layer_norm", kernel="fused")
    except ValueError as error:
        print(error)
"""
MISSING = r"there are no fused kernels on this machine: there is no g\+\+; install it \(Debian: apt install g\+\+\)"


def test_layers_without_a_compiler_run_by_the_reference_and_warn_once(tmp_path: Path) -> None:
    """The process finds no compiler, and no kernels that were compiled before."""
    (tmp_path / "empty").mkdir()
    elsewhere = {"PATH": str(tmp_path / "empty"), "HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", USE], env={**os.environ, **elsewhere}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    [warning] = done.stderr.splitlines()
    assert re.fullmatch(f"{MISSING}; recurrent networks run by the reference, .*", warning)
    refused = done.stdout.splitlines()
    assert len(refused) == 2
    assert all(re.fullmatch(f"{MISSING}; use auto or reference", line) for line in refused)


@pytest.fixture
def on_cuda(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A CUDA device without Triton. Only the choice of a kernel sees the device; weights stay where they are."""
    choose: Any = kernels.choose
    device = torch.device("cuda")
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: "NVIDIA H100")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setitem(sys.modules, "triton", None)
    monkeypatch.setattr(kernels, "choose", lambda name, cell, norm, _, dtype: choose(name, cell, norm, device, dtype))
    kernels._warn_once.cache_clear()


@pytest.mark.usefixtures("on_cuda")
def test_layers_on_cuda_without_triton_run_by_the_reference_and_warn_once(caplog: pytest.LogCaptureFixture) -> None:
    layers = [LSTM(3, 4, norm="layer_norm", kernel=kernel) for kernel in ("auto", "auto", "reference")]
    GRU(3, 4)
    [warning] = caplog.messages
    assert warning == (
        "recurrent networks run by the reference: fused kernels were not tried on this device; run: normbench kernels"
    )
    x = torch.randn(5, 2, 3)
    for layer in layers:
        layer.load_state_dict(layers[-1].state_dict())
        assert torch.equal(layer(x)[0], layers[-1](x)[0])


@pytest.mark.usefixtures("on_cuda")
def test_fused_layer_on_cuda_without_triton_is_refused() -> None:
    with pytest.raises(
        ValueError, match=r"no fused kernels on this machine: import of triton.*; use auto or reference"
    ):
        LSTM(3, 4, norm="layer_norm", kernel="fused")
