"""The baseline: summed inputs are used as they are."""

from normcore.norms.normalization import Normalization
from normcore.spec.methods import none as spec


class NoNorm(Normalization):
    """Nothing at any site, except the baseline's bias where an LSTM reads out its cell."""

    def __init__(self, options: spec.NoNorm) -> None:
        pass
