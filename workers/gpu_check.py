"""Checks of the fused kernels on a worker's GPU before it claims its first run, once for each kind of device.

Each pair of cell and method is tried in a process of its own, so a crash or a hang affects only this pair. Only
verdicts are stored. A check may break for lack of memory or a compiler, or because a kernel never ends. Then the cause
is logged, and the next worker that starts tries the pair again.
The check itself and its verdict are in ``normcore/kernels/gpu/``; this module adds the worker's processes.
"""

import logging
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, NamedTuple

from normcore.spec.kernels import FUSED_PAIRS
from workers.subprocess_task import run_in_process

if TYPE_CHECKING:
    from normcore.kernels.gpu.verdicts import KernelVerdict

log = logging.getLogger(__name__)

CHECK_SECONDS = 900.0  # longest time of a check, with the compilation of all its kernels
BEGUN = "begun"
MAX_IN_A_ROW = 3  # broken checks: then the cause is not the kernel

Pair = tuple[str, str]
Check = Callable[[Pair, str], "KernelVerdict"]


class CheckResults(NamedTuple):
    """Results of the checks on a device: pairs of cell and method without a verdict, pairs with wrong numbers, and a
    summary.
    """

    untried: list[Pair]
    wrong: list[Pair]
    summary: str


def try_all(device: str, check: Check | None = None, check_seconds: float = CHECK_SECONDS) -> str | None:
    """Try every pair of cell and method that was not yet tried on this kind of device, and log the results.

    Args:
        check: function that tries a pair in a process of its own; by default the check of
            ``normcore.kernels.gpu.check``.
        check_seconds: longest time of a check; a longer one counts as hanging.

    Returns:
        Reason why runs cannot ask for all fused kernels by name here; None if they can.
    """
    try:
        before = _read_verdicts(device)
        if before.untried:
            log.info("trying fused kernels on this kind of device, the first time; it takes some minutes")
            _try(before.untried, device, check or _check, check_seconds)
        known = _read_verdicts(device)
    except (OSError, EOFError) as error:  # processes, files or memory ran out
        log.warning("fused kernels cannot be tried here: %s: %s", type(error).__name__, error)
        return "they cannot be tried"
    log.info("fused kernels on this device: %s", known.summary)
    failed = [f"{cell} with {method}" for cell, method in (*known.untried, *known.wrong)]
    return f"wrong or untried on this device: {', '.join(failed)}" if failed else None


def _try(pairs: list[Pair], device: str, check: Check, seconds: float) -> None:
    broken = 0
    for number, pair in enumerate(pairs, 1):
        why = _why_it_broke(pair, device, check, seconds)
        broken = broken + 1 if why is not None else 0
        if why is not None:
            log.warning("the check of %s with %s broke, so it runs by the reference: %s", *pair, why)
        if broken == MAX_IN_A_ROW and number < len(pairs):
            log.warning("no more checks: %d in a row broke", broken)
            return


def _why_it_broke(pair: Pair, device: str, check: Check, seconds: float) -> str | None:
    """Try a pair. Return the reason why the check broke; None if it gave a verdict, which is stored."""
    with run_in_process(_try_one, pair, device, check) as task:
        try:
            why: str | None = task.receive()
            if why == BEGUN:  # until then another worker may have tried the same
                why = task.receive(seconds)
        except TimeoutError:
            return f"it did not end within {seconds:.0f} s"
        except ChildProcessError as error:
            return f"its process {error}"
    return why


def _try_one(worker: Connection, pair: Pair, device_name: str, check: Check) -> None:
    """Try the fused kernels of one cell with one method. Runs in a separate process."""
    from normcore.environment import usable_device
    from normcore.kernels.gpu import verdicts

    device, why = usable_device(device_name), None
    try:
        with verdicts.exclusive(device):
            worker.send(BEGUN)
            if pair not in verdicts.read(device):
                verdicts.store(device, pair, check(pair, device_name))
    except Exception as error:  # whatever torch, Triton, the compiler or the disk raise
        why = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
    worker.send(why)


def _read_verdicts(device: str) -> CheckResults:
    """Read the results of the checks, in a process of its own.

    Raises:
        ChildProcessError: that process ended before it sent the results.
    """
    with run_in_process(_look, device) as task:
        known: CheckResults = task.receive()
    return known


def _look(worker: Connection, device_name: str) -> None:
    """Send the results of the checks to the worker, from a process of its own."""
    from normcore.environment import usable_device
    from normcore.kernels.gpu import verdicts

    device = usable_device(device_name)
    found = verdicts.read(device)
    untried = [pair for pair in FUSED_PAIRS if pair not in found]
    wrong = [pair for pair, verdict in found.items() if verdict.wrong is not None]
    worker.send(CheckResults(untried, wrong, verdicts.summary(device)))


def _check(pair: Pair, device_name: str) -> "KernelVerdict":
    from normcore.environment import usable_device
    from normcore.kernels.gpu import load_unroll
    from normcore.kernels.gpu.check import try_out

    return try_out(*pair, usable_device(device_name), load_unroll())
