"""Normalizations: what happens to the summed inputs of a recurrent cell.

One file per method. A method's tag in ``normcore/spec/norm.py`` names the file, and the class there that holds its
options names the class here that takes them. To add a method, write both classes and a test; the contract suite
finds the tag by itself.
"""

from importlib import import_module
from typing import cast

from normcore.norms.normalization import BiasPlace, Normalization, Size
from normcore.spec.norm import Method, Site

__all__ = ["BiasPlace", "Normalization", "Site", "Size", "build"]


def build(spec: Method) -> Normalization:
    """The normalization that ``spec`` asks for."""
    module = import_module(spec.home or f"normcore.norms.{spec.method}")
    return cast(Normalization, getattr(module, type(spec).__name__)(spec))
