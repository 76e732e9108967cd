"""Normalizations of the summed inputs of a recurrent cell or a layer.

One file per method. To add one, write its options in the module of its tag in ``normcore/spec/methods/``, a class of
the same name in the module of its tag here, and a test; the registry and the contract suite find both by themselves.
"""

import inspect
from collections.abc import Callable, Mapping
from functools import lru_cache, wraps
from typing import Any, NamedTuple, cast

from torch import nn

from normcore.norms.normalization import BiasPlace, Normalization, Size
from normcore.spec.methods import METHODS
from normcore.spec.methods.method import Method
from normcore.spec.models.model import Place
from normcore.spec.plug_ins.errors import CannotRun

__all__ = ["BiasPlace", "Call", "Normalization", "Place", "Size", "build", "check_call"]


class Call(NamedTuple):
    """Form of a function: how it is called, and the line that defines it.

    Attributes:
        positional, named: names of the arguments.
        line: first line of the definition.
    """

    positional: tuple[str, ...]
    line: str
    named: tuple[str, ...] = ()


INIT = Call(("options",), "def __init__(self, options)")
INTERFACE: Mapping[str, Call] = {
    "norm": Call(("hidden_size", "site"), "def norm(self, hidden_size, site, blocks=(1,))", ("blocks",)),
    "layer": Call(("shape",), "def layer(self, shape)"),
    "attention": Call(("size",), "def attention(self, size)"),
}
"""Functions of a method that models call."""
OF_A_NORM = Call(("a", "t", "mask", "size"), "def forward(self, a, t, mask=None, size=None)")
OF_A_CELLS_NORM = OF_A_NORM._replace(positional=("a", "t"))


def build(options: Method) -> Normalization:
    """Build the normalization that the options describe.

    Raises:
        CannotRun: the class that implements the method is not a subclass of ``Normalization``, or one of its functions
            cannot be called as a model calls it. For the norms at the places of a cell, the error is raised when a cell
            asks for them.
    """
    kind: Any = METHODS.implementation(options)
    is_normalization = isinstance(kind, type) and issubclass(kind, Normalization)
    if not is_normalization:
        name = f"{getattr(kind, '__module__', '')}.{getattr(kind, '__qualname__', kind)}"
        base = f"{Normalization.__module__}.{Normalization.__qualname__}"
        raise CannotRun(f"{METHODS.tag_of(options)}: {name} is no subclass of {base}, which says what to implement")
    tag = METHODS.tag_of(options)
    check_call(tag, kind, "__init__", INIT)
    for function, call in INTERFACE.items():
        check_call(tag, kind, function, call)
    built = cast(Normalization, kind(options))
    object.__setattr__(built, "norm", _check_built_norms(tag, built.norm))
    return built


def _check_built_norms(tag: str, norm: Callable[..., nn.Module]) -> Callable[..., nn.Module]:
    """Make ``Normalization.norm`` check the modules that it builds."""

    @wraps(norm)
    def build_and_check(hidden_size: int, site: Place, *blocks: tuple[int, ...], **named: Any) -> nn.Module:
        built = norm(hidden_size, site, *blocks, **named)
        built_kind: Any = type(built)
        if not isinstance(built, nn.Module):
            raise CannotRun(f"{tag}: norm() returned a {type(built).__name__}; return an nn.Module")
        check_call(tag, built_kind, "forward", OF_A_CELLS_NORM if site == "cell" else OF_A_NORM)
        return built

    return build_and_check


@lru_cache(maxsize=256)
def check_call(tag: str, kind: type, name: str, call: Call) -> None:
    """Check that a function of a class can be called as a model calls it. The result is cached.

    Args:
        tag: the method or the cell, for the error message.
        kind: the class of the method, of the cell or of a norm.
        name: name of the function; ``__init__`` stands for a call of the class.

    Raises:
        CannotRun: the function takes other arguments; the error says what to write.
    """
    function = kind if name == "__init__" else getattr(kind, name)
    takes_self = name != "__init__" and inspect.isfunction(inspect.getattr_static(kind, name))
    try:
        signature = inspect.signature(function)
    except ValueError:  # a function in C does not say what it takes
        return
    try:
        signature.bind(*["self"] * takes_self, *call.positional, **dict.fromkeys(call.named))
    except TypeError as error:
        told = f"{kind.__module__}.{kind.__qualname__}.{name} has the wrong arguments ({error})"
        raise CannotRun(f"{tag}: {told}; write {call.line}") from error
