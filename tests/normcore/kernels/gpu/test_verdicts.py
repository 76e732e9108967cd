"""Verdicts of checks are saved on the machine, and decide which kernel ``auto`` uses."""

import json
from pathlib import Path

import pytest
import torch

from normcore.kernels import KernelUnavailable, choose
from normcore.kernels.gpu import verdicts
from normcore.kernels.gpu.verdicts import KernelVerdict
from normcore.recurrent import unroll
from normcore.spec.cells.gru import GRU
from normcore.spec.cells.lstm import LSTM
from normcore.spec.methods.layer_norm import LayerNorm

CPU = torch.device("cpu")
PAIR = ("lstm", "layer_norm")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> torch.device:
    """CUDA device that exists only as a name."""
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: "NVIDIA H100")
    return torch.device("cuda")


@pytest.mark.parametrize(
    ("verdict", "passed", "told"),
    [
        (KernelVerdict(None, 1.5), True, "1.5 times as fast"),
        (KernelVerdict(None, 1.05), False, "1.1 times as fast"),
        (KernelVerdict("y is off", None), False, "wrong: y is off"),
        (KernelVerdict("y is off", 3.0), False, "wrong: y is off"),
    ],
)
def test_verdict_passes_only_if_right_and_faster(verdict: KernelVerdict, passed: bool, told: str) -> None:
    assert (verdict.passed, str(verdict)) == (passed, told)


def kept(device: torch.device, pair: tuple[str, str], verdict: KernelVerdict) -> None:
    with verdicts.exclusive(device):
        verdicts.store(device, pair, verdict)


def test_verdicts_are_saved_and_summarized_on_one_line() -> None:
    assert verdicts.read(CPU) == {}
    kept(CPU, PAIR, KernelVerdict(None, 1.5))
    kept(CPU, ("gru", "none"), KernelVerdict("y is off", None))
    assert verdicts.read(CPU) == {PAIR: KernelVerdict(None, 1.5), ("gru", "none"): KernelVerdict("y is off", None)}
    assert verdicts.summary(CPU) == ("1 of 2 are right and faster than the reference; gru with none is wrong: y is off")


UNREADABLE = [
    "",
    "[]",
    "{}",
    '{"tried": {}}',
    *(
        f'{{"tried": {{}}, "verdicts": {found}}}'
        for found in (
            '{"lstm": {"wrong": null, "speedup": 2}}',
            '{"lstm none": {}}',
            '{"lstm none": {"wrong": null, "speedup": "2"}}',
        )
    ),
]


@pytest.mark.parametrize("content", UNREADABLE)
def test_unreadable_file_counts_as_empty_and_is_replaced(cache: Path, content: str) -> None:
    kept(CPU, PAIR, KernelVerdict(None, 1.5))
    [file] = cache.rglob("checks-*.json")
    file.write_text(content)
    assert verdicts.read(CPU) == {}
    kept(CPU, PAIR, KernelVerdict(None, 2.0))
    assert verdicts.read(CPU) == {PAIR: KernelVerdict(None, 2.0)}


def test_verdict_holds_only_for_the_device_that_its_file_names(
    cache: Path, cuda: torch.device, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept(cuda, PAIR, KernelVerdict(None, 1.5))
    [file] = cache.rglob("checks-*.json")
    tried = json.loads(file.read_text())["tried"]
    assert (tried["device"], tried["torch"]) == ("NVIDIA H100", torch.__version__)
    assert verdicts.read(CPU) == {}
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: "NVIDIA A100")
    assert verdicts.read(cuda) == {}


def test_auto_needs_a_passed_verdict_and_fused_runs_without_a_verdict(cuda: torch.device) -> None:
    pytest.importorskip("triton", reason="needs triton: pip install '.[gpu]'")
    from normcore.kernels.gpu.unroll import unroll as fused_unroll

    of = (LSTM(), LayerNorm(), cuda, torch.float32)
    assert choose("auto", *of) == ("reference", unroll)
    assert choose("fused", *of) == ("fused", fused_unroll)
    kept(cuda, PAIR, KernelVerdict(None, 1.5))
    assert choose("auto", *of) == ("fused", fused_unroll)
    assert choose("reference", *of) == ("reference", unroll)
    assert choose("auto", GRU(), LayerNorm(), cuda, torch.float32) == ("reference", unroll)


@pytest.mark.parametrize(
    "verdict", [KernelVerdict(None, 0.9), KernelVerdict("y is off", None)], ids=["slower", "wrong"]
)
def test_auto_takes_the_reference_if_kernels_are_slower_or_wrong(cuda: torch.device, verdict: KernelVerdict) -> None:
    pytest.importorskip("triton", reason="needs triton: pip install '.[gpu]'")
    from normcore.kernels.gpu.unroll import unroll as fused_unroll

    of = (LSTM(), LayerNorm(), cuda, torch.float32)
    kept(cuda, PAIR, verdict)
    assert choose("auto", *of) == ("reference", unroll)
    if verdict.wrong is None:
        assert choose("fused", *of) == ("fused", fused_unroll)
    else:
        with pytest.raises(KernelUnavailable, match="is wrong on this device: y is off; use auto or reference"):
            choose("fused", *of)
