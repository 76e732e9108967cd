"""One label for a whole sequence (RBN section 5.1).

T steps, B sequences, F inputs a step, H hidden units, C classes.
"""

import torch
from torch import Tensor, nn

from normcore.models.readout import orthogonal_readout
from normcore.recurrent import Recurrent, RecurrentState

EVALUATION_EXAMPLES = 1000  # whole sequences in one piece, where a method takes its statistics over time
EVALUATION_STEPS = 56  # in one piece when there is no gradient: thousands of images at once must fit into memory


class SequenceClassifier(nn.Module):
    """logits = W_y h + b_y, where h is the state that has read the whole sequence.

    That is the state after the last step and, if the model reads backwards too, the backward state at the first.
    """

    def __init__(self, recurrent: Recurrent, num_classes: int) -> None:
        super().__init__()
        self.recurrent = recurrent
        self.readout = orthogonal_readout(recurrent.hidden_size * recurrent.directions, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        """Logits (B, C) of sequences x (T, B, F)."""
        if self.recurrent.directions == 2 or torch.is_grad_enabled():
            read = self._read(x)
        elif self.recurrent.whole_sequences:
            read = torch.cat([self._read(some) for some in torch.split(x, EVALUATION_EXAMPLES, 1)])
        else:
            read = self._read_in_pieces(x)
        logits: Tensor = self.readout(read)
        return logits

    def _read(self, x: Tensor) -> Tensor:
        """(B, D H). Of the state rather than the outputs, whose gradient would be one of all steps, full of zeros."""
        _, state = self.recurrent(x)
        return torch.cat([end.h for end in state.cells[-self.recurrent.directions :]], -1)

    def _read_in_pieces(self, x: Tensor) -> Tensor:
        state: RecurrentState | None = None
        for piece in torch.split(x, EVALUATION_STEPS):
            _, state = self.recurrent(piece, state=state)
        assert state is not None
        return state.cells[-1].h
