"""A method that fails the tests which find it by its name is told the lines to write."""

from collections.abc import Callable
from typing import ClassVar, Literal

import pytest
import torch
from torch import Tensor, nn

from normcore.norms.normalization import Normalization
from normcore.spec.methods.method import SiteMethod
from tests.normcore.norms.test_contract import hold_bfloat16_against_float64
from tests.normcore.norms.test_large_values import hold_against_float64, normal
from tests.normcore.spec.test_idle_options import hold_erases_against_outputs


class CenteredOptions(SiteMethod):
    title: ClassVar[str] = "Centered"
    citation: ClassVar[str] = "-"
    method: Literal["centered"] = "centered"


class CenteredNorm(Normalization):
    """Norm that subtracts the mean of an example, so it leaves nothing of a single number."""

    def layer(self, shape: tuple[int, ...]) -> nn.Module:
        return Minus()


class Minus(nn.Module):
    def forward(self, a: Tensor, t: int = 0) -> Tensor:
        return a - a.flatten(1).mean(1).view(-1, *[1] * (a.dim() - 1))


class Plain(nn.Module):
    """Root mean square norm that knows nothing of the range of float32."""

    def forward(self, a: Tensor, t: int = 0) -> Tensor:
        return a * a.square().mean(-1, keepdim=True).rsqrt()


def failure(check: Callable[[], None]) -> str:
    with pytest.raises(AssertionError) as caught:
        check()
    return str(caught.value)


def test_a_missing_erases_is_told_with_its_class_and_the_lines() -> None:
    told = failure(
        lambda: hold_erases_against_outputs(lambda channels: CenteredOptions(), lambda options: CenteredNorm())
    )
    lines = "def erases(self, channels: int) -> bool: return channels == 1"
    assert f"write in the class CenteredOptions ({__name__}): {lines}" in " ".join(told.split())


def test_an_erases_of_every_layer_is_told_to_be_wrong_where_nothing_is_erased() -> None:
    class Eraser(CenteredOptions):
        def erases(self, channels: int) -> bool:
            return True

    told = failure(lambda: hold_erases_against_outputs(lambda channels: Eraser(), lambda options: Normalization()))
    assert "return False" in told


@pytest.mark.parametrize("size", [1e20, 1e-30])
def test_values_that_leave_float32_are_told_with_the_lines(size: float) -> None:
    told = failure(lambda: hold_against_float64(Plain(), normal(size)))
    assert "y of Plain() differs from float64 by " in told
    assert f"In `forward` of the norm Plain ({__name__})" in told
    assert "    if needs_float64(mean_square):\n        wide = wide.double()" in told


def test_a_network_whose_weights_leave_float32_is_told_the_norm_in_it() -> None:
    norm, network = Plain(), nn.Sequential(nn.Linear(64, 64), Plain())
    with torch.no_grad():
        network.get_parameter("0.weight").fill_(1e25)
    told = failure(lambda: hold_against_float64(network, normal(1)[0], norm=norm, called="lstm with plain"))
    assert "of lstm with plain differs" in told
    assert "the norm Plain" in told
    assert "Sequential" not in told


def test_statistics_in_bfloat16_are_told_with_the_lines() -> None:
    told = failure(lambda: hold_bfloat16_against_float64(Plain(), (20 + torch.randn(3, 16, 64)).bfloat16()))
    assert "    wide = at_least_float32(a)\n" in told
