"""Common parts of the gradients of all fused kernels."""

from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any

import torch

from normcore.kernels.cell_layout import NormKind


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


def check_kinds(kinds: Iterable[int]) -> None:
    """Check that kernels have gradients for norms of these kinds.

    ``CellLayout.of_pass`` leaves such a pass to the reference. It cannot if the pass is recorded without gradients, and
    differentiated later: in an exported graph, or under ``torch.func.vmap``.

    Raises:
        RuntimeError: a norm uses population statistics.
    """
    if NormKind.POPULATION in kinds:
        raise RuntimeError(
            "fused kernels give no gradients through running statistics: export a layer in evaluation with gradients"
            ' enabled, not under torch.no_grad(), or build it with kernel="reference"'
        )
