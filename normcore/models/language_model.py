"""Language model: the next symbol after every symbol (RBN section 5.2).

Shapes: T steps, B sequences, V symbols, H hidden units.
"""

from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from normcore.models.readout import orthogonal_readout
from normcore.recurrent import Recurrent, RecurrentState


class LanguageModel(nn.Module):
    """Language model: logits_t = W_y h_t + b_y, with one-hot symbols as input."""

    def __init__(self, recurrent: Recurrent, num_symbols: int) -> None:
        super().__init__()
        self.recurrent = recurrent
        self.num_symbols = num_symbols
        self.readout = orthogonal_readout(recurrent.hidden_size, num_symbols)

    def forward(self, symbols: Tensor, state: RecurrentState | None = None) -> tuple[Tensor, RecurrentState]:
        """Compute logits (T, B, V) of the symbol after each of the symbols (T, B), and the last state, to go on
        from."""
        x = F.one_hot(symbols, self.num_symbols).to(self.readout.weight.dtype)
        y, state = self.recurrent(x, state=state)
        return self.readout(y), state
