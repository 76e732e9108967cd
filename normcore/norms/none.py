"""The baseline: summed inputs are used as they are."""

from normcore.norms.normalization import Normalization
from normcore.spec.methods import none as spec


class NoNorm(Normalization):
    """The method that normalizes nothing. It only adds the baseline's bias to the cell that an LSTM reads out."""

    def __init__(self, options: spec.NoNorm) -> None:
        pass
