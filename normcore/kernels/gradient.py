"""Common parts of the gradients of all fused kernels."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch


def forbid_second_gradient(backward: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate the backward pass of a ``torch.autograd.Function`` whose gradients cannot be differentiated again.

    Raises:
        RuntimeError: raised by the pass if a graph of the gradients is asked for (``create_graph=True``).
    """

    @wraps(backward)
    def check_and_run(ctx: Any, *grads: Any) -> Any:
        if torch.is_grad_enabled():
            raise RuntimeError(
                "fused kernels give no gradients of gradients: set training.kernel to reference, or build a layer of"
                ' normcore.nn with kernel="reference"'
            )
        return backward(ctx, *grads)

    return check_and_run
