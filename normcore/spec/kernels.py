"""Cells and methods that have fused kernels. ``normcore.kernels`` decides if a machine can run the kernels."""

from normcore.spec.cells import CELLS
from normcore.spec.cells.gru import GRU
from normcore.spec.cells.lstm import LSTM
from normcore.spec.cells.rnn import RNN
from normcore.spec.methods import METHODS
from normcore.spec.methods.layer_norm import LayerNorm
from normcore.spec.methods.method import Method
from normcore.spec.methods.none import NoNorm
from normcore.spec.methods.recurrent_batch_norm import RecurrentBatchNorm
from normcore.spec.methods.rms_norm import RMSNorm
from normcore.spec.methods.sequence_batch_norm import SequenceBatchNorm
from normcore.spec.models.model import Model

FUSED_CELLS = (LSTM, GRU, RNN)
FUSED_METHODS = (NoNorm, LayerNorm, RecurrentBatchNorm, RMSNorm, SequenceBatchNorm)
FUSED_PAIRS = tuple((CELLS.tag_of(cell), METHODS.tag_of(method)) for cell in FUSED_CELLS for method in FUSED_METHODS)
"""All pairs of a cell and a method that have fused kernels, by their tags."""
TRITON = ("3.6", "3.7", "3.8")
"""Versions of Triton that compile all kernels for CUDA devices; the compiler of Triton 3.9.0 aborts."""


def why_not_fused(model: Model, norm: Method) -> str | None:
    """Say why fused kernels cannot compute the recurrent networks of this model with this method; None if they can."""
    if model.feeds_back or type(model.recurrent) not in FUSED_CELLS:
        return f"there is no fused kernel for {model.label}"
    if type(norm) not in FUSED_METHODS:
        return f"there is no fused kernel for {model.label} with {norm.method}"
    return None
