<<<<<<< HEAD
"""Whoever asks for a kernel is told which one runs, and gets no other in its place."""
=======
"""Which loop over time runs is chosen where a model is built, and asked for by name it runs or is refused."""
>>>>>>> helper-newtests

import pytest
import torch

from normcore.kernels import KernelUnavailable, choose
from normcore.models.build import Build
<<<<<<< HEAD
from normcore.recurrent import unroll
from normcore.spec.cells.lstm import LSTM
from normcore.spec.methods.none import NoNorm
=======
from normcore.recurrent import Recurrent, unroll
from normcore.spec.cells import CELLS
from normcore.spec.cells.lstm import LSTM
from normcore.spec.methods import METHODS
from normcore.spec.methods.layer_norm import LayerNorm
>>>>>>> helper-newtests

CPU = torch.device("cpu")


<<<<<<< HEAD
def build(kernel: str) -> Build:
    return Build(LSTM(), NoNorm(), kernel, CPU, torch.float64)


@pytest.mark.parametrize("kernel", ["auto", "reference"])
def test_the_reference_is_the_loop_that_everybody_can_read(kernel: str) -> None:
    assert choose("reference", LSTM(), NoNorm(), CPU, torch.float64) == ("reference", unroll)
    assert build(kernel).recurrent(LSTM(), 3).kernel == "reference"


def test_a_kernel_that_there_is_not_is_an_error() -> None:
    with pytest.raises(KernelUnavailable, match=r"no fused kernel for lstm with none on cpu.*use auto or reference"):
        build("fused").recurrent(LSTM(), 3)
=======
@pytest.mark.parametrize("kernel", ["auto", "reference"])
@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("device", ["cpu", "meta", "cuda"])
def test_the_reference_is_everywhere(kernel: str, cell: str, device: str) -> None:
    options = CELLS[cell].model_validate({})
    for method in METHODS.values():
        if method.fits(CELLS[cell]):
            chosen = choose(kernel, options, method.model_validate({}), torch.device(device), torch.float32)
            assert chosen == ("reference", unroll)


def test_what_is_not_there_is_refused_by_name() -> None:
    with pytest.raises(KernelUnavailable, match=r"no fused kernel for lstm with layer_norm on cpu in torch\.float32"):
        choose("fused", LSTM(), LayerNorm(), CPU, torch.float32)
    assert issubclass(KernelUnavailable, ValueError)


def test_a_network_says_which_one_it_has() -> None:
    network = Build(LSTM(hidden_size=3), LayerNorm(), "auto", CPU, torch.float32).recurrent(LSTM(hidden_size=3), 2)
    assert isinstance(network, Recurrent)
    assert (network.kernel, network.unroll) == ("reference", unroll)
>>>>>>> helper-newtests
