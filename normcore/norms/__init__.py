"""Normalizations of the summed inputs of a recurrent cell or a layer.

One file per method. To add one, write its options in the module of its tag in ``normcore/spec/methods/``, a class of
the same name in the module of its tag here, and a test; the registry and the contract suite find both by themselves.
"""

from typing import Any, cast

from normcore.norms.normalization import BiasPlace, Normalization, Size
from normcore.spec.methods import METHODS
from normcore.spec.methods.method import Method
from normcore.spec.models.model import Place
from normcore.spec.plug_ins.errors import CannotRun

__all__ = ["BiasPlace", "Normalization", "Place", "Size", "build"]


def build(options: Method) -> Normalization:
    """Build the normalization that the options describe.

    Raises:
        CannotRun: the class that implements the method is not a subclass of ``Normalization``.
    """
    kind: Any = METHODS.implementation(options)
    is_normalization = isinstance(kind, type) and issubclass(kind, Normalization)
    if not is_normalization:
        name = f"{getattr(kind, '__module__', '')}.{getattr(kind, '__qualname__', kind)}"
        base = f"{Normalization.__module__}.{Normalization.__qualname__}"
        raise CannotRun(f"{METHODS.tag_of(options)}: {name} is no subclass of {base}, which says what to implement")
    return cast(Normalization, kind(options))
