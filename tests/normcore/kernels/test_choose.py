"""Whoever asks for a kernel is told which one runs, and gets no other in its place."""

import pytest
import torch

from normcore.kernels import KernelUnavailable, choose
from normcore.models.build import Build
from normcore.recurrent import unroll
from normcore.spec.cells.lstm import LSTM
from normcore.spec.methods.none import NoNorm

CPU = torch.device("cpu")


def build(kernel: str) -> Build:
    return Build(LSTM(), NoNorm(), kernel, CPU, torch.float64)


@pytest.mark.parametrize("kernel", ["auto", "reference"])
def test_the_reference_is_the_loop_that_everybody_can_read(kernel: str) -> None:
    assert choose("reference", LSTM(), NoNorm(), CPU, torch.float64) == ("reference", unroll)
    assert build(kernel).recurrent(LSTM(), 3).kernel == "reference"


def test_a_kernel_that_there_is_not_is_an_error() -> None:
    with pytest.raises(KernelUnavailable, match=r"no fused kernel for lstm with none on cpu.*use auto or reference"):
        build("fused").recurrent(LSTM(), 3)
