"""Implementations of a cell's loop over time, and the choice between them.

The reference is ``normcore.recurrent.unroll``; a fused kernel has the same signature and computes the same.
"""

import logging
from collections.abc import Callable
from functools import cache
from importlib.metadata import version

import torch
from torch import nn

from normcore.kernels import cpu, gpu, reference_code
from normcore.kernels.gpu import verdicts
from normcore.recurrent.stack import Recurrent
from normcore.recurrent.unroll import UnrolledCell, unroll
from normcore.spec.cells import CELLS
from normcore.spec.kernels import why_not_fused
from normcore.spec.methods import METHODS
from normcore.spec.methods.method import Method
from normcore.spec.models.recurrent import RecurrentModel

log = logging.getLogger(__name__)

Unroll = Callable[..., UnrolledCell]
"""An implementation of the loop over time, called as ``unroll(cell, x, state, t, mask)``."""


class KernelUnavailable(ValueError):
    """The requested kernel does not exist, or does not work, for this cell and method on this device."""


def choose(
    kernel: str, cell: RecurrentModel, method: Method, device: torch.device, dtype: torch.dtype
) -> tuple[str, Unroll]:
    """Choose the implementation of the loop over time that runs; return its name and the function.

    Fused kernels for the CPU are compiled here, if this machine has no compiled ones yet. ``auto`` takes a fused kernel
    for a CUDA device only after a check on a device of the same kind; ``normbench kernels`` and workers do the checks.

    Args:
        kernel: ``reference``, ``fused``, or ``auto`` for the fastest implementation that is known to work.

    Raises:
        KernelUnavailable: the kernel was asked for by name, and it does not exist, or a check found it wrong.
    """
    if kernel == "reference":
        return "reference", unroll
    missing = (
        why_not_fused(cell, method) or _explain_missing_kernel(device, dtype) or _explain_edited_code(cell, method)
    )
    if missing is None and device.type == "cuda":
        missing = _explain_failed_check(device, cell, method, needs_check=kernel == "auto")
    if missing is None:
        try:
            return "fused", _load_fused_unroll(device, type(cell).__name__, dtype)
        except (cpu.KernelsMissing, ImportError) as error:
            missing = f"there are no fused kernels on this machine: {error}"
            if kernel == "auto":
                _warn_once(f"{missing}; recurrent networks run by the reference, small ones several times slower")
    if kernel == "auto":
        return "reference", unroll
    raise KernelUnavailable(f"{missing}; use auto or reference")


def describe_kernel(model: nn.Module, device: torch.device) -> tuple[str, str | None]:
    """Return the kernel that a model's recurrent networks use, with the instruction set and compiler: for example
    ``("fused", "x86-64-v4, g++ 12.2.0")``; ``("reference", None)`` without a fused kernel.
    """
    networks = [module for module in model.modules() if isinstance(module, Recurrent)]
    names = {network.kernel for network in networks} or {"reference"}
    origins = {_origin(network.options, device) for network in networks if network.kernel == "fused"}
    return " ".join(sorted(names)), "; ".join(sorted(origins)) or None


def _origin(cell: RecurrentModel, device: torch.device) -> str:
    return f"triton {version('triton')}" if device.type == "cuda" else cpu.describe_build(type(cell).__name__)


def _load_fused_unroll(device: torch.device, cell_name: str, dtype: torch.dtype) -> Unroll:
    """Return the fused kernel for a device.

    Raises:
        ImportError: there is no Triton, or its version does not fit.
        KernelsMissing: there are no compiled kernels for the CPU.
    """
    if device.type == "cuda":
        return gpu.load_unroll()
    cpu.load(cell_name, dtype)
    return cpu.unroll


def _explain_failed_check(
    device: torch.device, cell: RecurrentModel, method: Method, *, needs_check: bool
) -> str | None:
    """Return why the fused kernel must not run on a device, by the checks on devices of its kind. None if it may run.

    Args:
        needs_check: refuse also a kernel that was not tried, or was not faster than the reference.
    """
    known = verdicts.read(device)
    verdict = known.get((CELLS.tag_of(cell), METHODS.tag_of(method)))
    if verdict is not None and verdict.wrong is not None:
        return f"the fused kernel is wrong on this device: {verdict.wrong}"
    if needs_check and verdict is None:
        what = f"{cell.label} with {method.method} runs" if known else "recurrent networks run"
        _warn_once(f"{what} by the reference: fused kernels were not tried on this device; run: normbench kernels")
        return "the fused kernel was not tried on this kind of device"
    if needs_check and verdict is not None and not verdict.passed:
        return f"the fused kernel is {verdict} on this device"
    return None


def _explain_edited_code(cell: RecurrentModel, method: Method) -> str | None:
    """Return why the fused kernel would not compute what the cell's and the method's code says; None if it does."""
    module = reference_code.find_edited_module(type(cell), type(method))
    if module is None:
        return None
    missing = f"{module} was edited, and the fused kernel still computes the code as it was"
    _warn_once(
        f"{missing}: {cell.label} with {method.method} runs by the reference, several times slower if it is small"
    )
    return missing


def _explain_missing_kernel(device: torch.device, dtype: torch.dtype) -> str | None:
    if device.type in ("cpu", "cuda") and dtype == torch.float32:
        return None
    return f"there is no fused kernel on {device.type} in {dtype}"


@cache
def _warn_once(message: str) -> None:
    log.warning("%s", message)
