"""Operators of torch that the fused kernels are: ``torch.ops.normbench``."""

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad

WORDS = (
    "fused kernels give no derivatives of forward mode and none of torch.func: set training.kernel to reference, or"
    ' build a layer of normcore.nn with kernel="reference"'
)
LIBRARY: Any = torch.library.Library("normbench", "DEF")  # type: ignore[no-untyped-call]


def register_gradient(name: str, save: Callable[..., None], differentiate: Callable[..., tuple[Any, ...]]) -> None:
    """Register the gradient of an operator.

    It does what ``torch.library.register_autograd`` does, whose own work takes 0.2 ms a call for an operator with as
    many arguments as ours.

    The operator's last argument is ``keeps``: whether the pass keeps what backward needs. It is set here, because a
    caller cannot know: a graph that was exported without gradients, or a function under ``torch.func.vmap``, may be
    differentiated later.

    Args:
        save: called as ``save(ctx, arguments, results)`` after the forward pass.
        differentiate: called as ``differentiate(ctx, *grads)``; returns the gradients of the first arguments.
    """
    operator: Any = getattr(torch.ops.normbench, name).default
    below: Any = torch._C._after_autograd_keyset

    class Gradient(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, keys: Any, *arguments: Any) -> Any:
            results = run_below(keys, arguments)
            save(ctx, arguments, results)
            ctx.rest = len(arguments)
            return results

        @staticmethod
        def backward(ctx: Any, *grads: Tensor | None) -> Any:
            found = differentiate(ctx, *grads)
            return None, *found, *[None] * (ctx.rest - len(found))

    def run_below(keys: Any, arguments: tuple[Any, ...]) -> Any:
        with torch._C._AutoDispatchBelowAutograd():
            return operator.redispatch(keys & below, *arguments)

    def run(keys: Any, *arguments: Any) -> Any:
        tensors = [given for given in arguments if isinstance(given, Tensor)]
        differentiated = torch.is_grad_enabled() and any(given.requires_grad for given in tensors)
        if _have_tangents(tensors) or (differentiated and torch._C._are_functorch_transforms_active()):
            raise RuntimeError(WORDS)
        if differentiated:
            return Gradient.apply(keys, *arguments[:-1], True)  # type: ignore[no-untyped-call]
        return run_below(keys, arguments)

    LIBRARY.impl(name, run, "Autograd", with_keyset=True)


def _have_tangents(tensors: Iterable[Tensor]) -> bool:
    """Tell if derivatives of forward mode are computed of any tensor."""
    inside: int = forward_ad._current_level  # -1 outside of forward mode
    return inside >= 0 and any(forward_ad.unpack_dual(tensor).tangent is not None for tensor in tensors)  # type: ignore[no-untyped-call]
