"""Advice in failures of the tests that find a method by its name: the lines to write in the method's class."""

from collections.abc import Collection

from torch import nn

from normcore.spec.methods.method import Method

CHANNELS = (1, 2, 4)  # numbers of channels that ``erases`` is tried with


def erases(kind: type[Method], erased: Collection[int]) -> str:
    """Lines for a method that leaves only 0 of single numbers in layers with ``erased`` channels, out of CHANNELS."""
    condition = {
        (): "False",
        (1,): "channels == 1",
        CHANNELS: "True",
    }.get(tuple(erased), f"channels in {tuple(erased)}")
    return _in_class(kind, "erases(self, channels: int) -> bool", f"return {condition}")


def idle(kind: type[Method], options: Collection[str]) -> str:
    """Lines for a method with options that change nothing in a model."""
    named = ", ".join(f'"{option}"' for option in sorted(options))
    return _in_class(
        kind,
        "idle(self, model: Model) -> frozenset[str]",
        f"return super().idle(model) | {{{named}}}  # if they change nothing in this model; else remove the options",
    )


def in_float32_as_in_float64(norm: nn.Module) -> str:
    """Lines for a norm that is wrong for large or small values."""
    kind = type(norm)
    return (
        f"In `forward` of the norm {kind.__name__} ({kind.__module__}), use float64 where float32 is too narrow."
        " For means and squares this is:\n"
        "    wide = at_least_float32(a)\n"
        "    mean_square = wide.square().mean(-1, keepdim=True)\n"
        "    if needs_float64(mean_square):\n"
        "        wide = wide.double()\n"
        "        mean_square = wide.square().mean(-1, keepdim=True)\n"
        "and return the result with .to(a.dtype). Both functions are in normcore/norms/normalization.py."
        " docs/extend/method.md (What a failure means) says when this failure may stand."
    )


def _in_class(kind: type[Method], signature: str, body: str) -> str:
    return f"write in the class {kind.__name__} ({kind.__module__}):\n    def {signature}:\n        {body}"
