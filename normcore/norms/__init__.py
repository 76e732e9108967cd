"""Normalizations: what happens to the summed inputs of a recurrent cell.

One file per method. A method's tag in ``normcore/spec/norm.py`` names the file, and the class there that holds its
options names the class here that takes them. To add a method, write both classes and a test; the contract suite
finds the tag by itself.
"""

from importlib import import_module
from typing import Literal, Protocol, cast

from torch import nn

from normcore.spec.norm import Method, NoNorm

Site = Literal["input", "recurrent", "sum", "cell"]
BiasPlace = Literal["outside", "inside", "both"]


class Normalization(Protocol):
    """A method's answers to a cell that is being built.

    Attributes:
        bias: where the cell's bias enters: outside the norms, inside the input's norm (the sum's, for an RNN), or
            the same bias in both places.
        initial_state_noise: standard deviation of the noise added to the first hidden state.
    """

    @property
    def bias(self) -> BiasPlace: ...

    @property
    def initial_state_noise(self) -> float: ...

    def norm(self, size: int, site: Site) -> nn.Module:
        """The module that normalizes ``size`` summed inputs at ``site``.

        It is called as ``norm(a, t)`` with ``a`` of shape (B, size) at step t, or (T, B, size) at the steps
        t, t + 1, ...; it keeps shape and dtype.

        Args:
            site: ``input`` for W_x x, ``recurrent`` for W_h h, ``sum`` for both added up, ``cell`` for what an LSTM
                reads out of its cell state.
        """
        ...


def build(spec: Method) -> Normalization:
    """The normalization that ``spec`` asks for."""
    file = "identity" if isinstance(spec, NoNorm) else spec.method
    module = import_module(f"normcore.norms.{file}")
    return cast(Normalization, getattr(module, type(spec).__name__)(spec))
