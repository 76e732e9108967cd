"""Implementations of a cell's loop over time, and which of them runs where.

The reference is ``normcore.recurrent.unroll``; a fused kernel is a twin of it with the same signature.
"""

from collections.abc import Callable

import torch

from normcore.recurrent.unroll import Unrolled, unroll
from normcore.spec.methods.method import Method
from normcore.spec.models.recurrent import RecurrentModel

Unroll = Callable[..., Unrolled]
"""``unroll(cell, x, state, t, mask)``."""


class KernelUnavailable(ValueError):
    """There is no such kernel for this cell and method on this device."""


def choose(
    kernel: str, cell: RecurrentModel, method: Method, device: torch.device, dtype: torch.dtype
) -> tuple[str, Unroll]:
    """The name of the implementation that runs, and the implementation.

    Args:
        kernel: ``reference``, ``fused``, or ``auto`` for the fastest there is.

    Raises:
        KernelUnavailable: it was asked for by name, and there is none.
    """
    if kernel not in ("auto", "reference"):
        raise KernelUnavailable(
            f"there is no {kernel} kernel for {cell.label} with {method.method} on {device.type} in {dtype};"
            " use auto or reference"
        )
    return "reference", unroll
