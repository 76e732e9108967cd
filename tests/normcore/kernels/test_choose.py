"""Which loop over time runs is chosen where a model is built, and asked for by name it runs or is refused."""

import pytest
import torch

from normcore.kernels import KernelUnavailable, choose
from normcore.models.build import Build
from normcore.recurrent import Recurrent, unroll
from normcore.spec.cells import CELLS
from normcore.spec.cells.lstm import LSTM
from normcore.spec.methods import METHODS
from normcore.spec.methods.layer_norm import LayerNorm

CPU = torch.device("cpu")


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
