"""Normalizations: what happens to the summed inputs of a recurrent cell or a layer.

One file per method. To add one, write its options in the module of its tag in ``normcore/spec/methods/``, a class of
the same name in the module of its tag here, and a test; the registry and the contract suite find both by themselves.
"""

from typing import cast

from normcore.norms.normalization import BiasPlace, Normalization, Size
from normcore.spec.methods import METHODS
from normcore.spec.methods.method import Method
from normcore.spec.models.model import Place

__all__ = ["BiasPlace", "Normalization", "Place", "Size", "build"]


def build(options: Method) -> Normalization:
    """The normalization that these options ask for."""
    return cast(Normalization, METHODS.implementation(options)(options))
