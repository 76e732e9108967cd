r"""Recurrent network with tanh, without gates.

$$h_t = \tanh(N(W_h h_{t-1} + W_x x_t) + b)$$
"""

from typing import ClassVar, Literal

from normcore.spec.models.model import Place
from normcore.spec.models.recurrent import RecurrentModel


class RNN(RecurrentModel):
    """Recurrent network with tanh. The next state is tanh(W_h h + W_x x + b)."""

    places: ClassVar[frozenset[Place]] = frozenset({"input", "recurrent", "sum"})
    usual: ClassVar[tuple[Place, ...]] = ("sum",)  # LN Eq. 4; RBN does not say where its RNN has its norm
    gates: ClassVar[int | None] = 1

    cell: Literal["rnn"] = "rnn"
