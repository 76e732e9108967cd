"""Classifier that gives one label to a whole sequence (RBN section 5.1).

Shapes: T steps, B sequences, F inputs a step, H hidden units, C classes.
"""

import torch
from torch import Tensor, nn

from normcore.models.readout import orthogonal_readout
from normcore.recurrent import Recurrent, RecurrentState

EVALUATION_EXAMPLES = 1000  # whole sequences read at once in evaluation, if the method's statistics are over time
EVALUATION_STEPS = 56  # steps read at once if there is no gradient: thousands of images must fit into memory


class SequenceClassifier(nn.Module):
    """Classifier of sequences: logits = W_y h + b_y, where h is the state that has read the whole sequence.

    h is the state after the last step and, if the model also reads backwards, the backward state at the first step.
    """

    def __init__(self, recurrent: Recurrent, num_classes: int) -> None:
        super().__init__()
        self.recurrent = recurrent
        self.readout = orthogonal_readout(recurrent.hidden_size * recurrent.directions, num_classes)

    def forward(self, x: Tensor) -> Tensor:
        """Compute logits (B, C) of sequences x (T, B, F)."""
        if self.recurrent.directions == 2 or torch.is_grad_enabled():
            read = self._read(x)
        elif self.recurrent.whole_sequences:
            read = torch.cat([self._read(some) for some in torch.split(x, EVALUATION_EXAMPLES, 1)])
        else:
            read = self._read_in_pieces(x)
        logits: Tensor = self.readout(read)
        return logits

    def _read(self, x: Tensor) -> Tensor:
        """Return the last states (B, D H). Do not take them from the outputs: the outputs' gradient would cover all
        steps and be full of zeros."""
        _, state = self.recurrent(x)
        return torch.cat([end.h for end in state.cells[-self.recurrent.directions :]], -1)

    def _read_in_pieces(self, x: Tensor) -> Tensor:
        state: RecurrentState | None = None
        for piece in torch.split(x, EVALUATION_STEPS):
            _, state = self.recurrent(piece, state=state)
        assert state is not None
        return state.cells[-1].h
