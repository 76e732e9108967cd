"""Trials of the fused kernels on a worker's GPU before it claims its first run, once for each kind of device.

Each cell and method is tried in a process of its own: what kills or hangs it costs this pair alone. Only what a trial
found is kept. What broke one, want of memory or of a compiler as well as a kernel that never ends, is logged, and the
pair is tried again by the next worker that starts.
"""

import logging
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING, NamedTuple

from normcore.spec.kernels import FUSED_PAIRS
from workers.subprocess_task import working

if TYPE_CHECKING:
    from normcore.kernels.gpu_verdicts import Verdict

log = logging.getLogger(__name__)

TRIAL_SECONDS = 900.0  # in which a trial ends that ends at all, compilation of all its kernels included
BEGUN = "begun"
MOST_IN_A_ROW = 3  # trials that break: what breaks them is not the kernel

Pair = tuple[str, str]
Trial = Callable[[Pair, str], "Verdict"]


class Known(NamedTuple):
    """Known facts about the kernels on a device."""

    untried: list[Pair]
    wrong: list[Pair]
    summary: str


def try_all(device: str, trial: Trial | None = None, trial_seconds: float = TRIAL_SECONDS) -> str | None:
    """Have every cell and method tried that was not tried on such a device, and log what was found.

    Args:
        trial: what is done in a process for each; that of ``normcore.kernels.gpu.check`` by default.
        trial_seconds: in which a trial ends that ends at all.

    Returns:
        Why not all can be asked for by name; None if all can.
    """
    try:
        before = _known(device)
        if before.untried:
            log.info("trying fused kernels on this kind of device, the first time; it takes some minutes")
            _try(before.untried, device, trial or _trial, trial_seconds)
        known = _known(device)
    except (OSError, EOFError) as error:  # of processes, files or memory
        log.warning("fused kernels cannot be tried here: %s: %s", type(error).__name__, error)
        return "they cannot be tried"
    log.info("fused kernels on this device: %s", known.summary)
    failed = [f"{cell} with {method}" for cell, method in (*known.untried, *known.wrong)]
    return f"wrong or untried on this device: {', '.join(failed)}" if failed else None


def _try(pairs: list[Pair], device: str, trial: Trial, seconds: float) -> None:
    broken = 0
    for number, pair in enumerate(pairs, 1):
        why = _why_it_broke(pair, device, trial, seconds)
        broken = broken + 1 if why is not None else 0
        if why is not None:
            log.warning("the trial of %s with %s broke, so it runs by the reference: %s", *pair, why)
        if broken == MOST_IN_A_ROW and number < len(pairs):
            log.warning("no more trials: %d in a row broke", broken)
            return


def _why_it_broke(pair: Pair, device: str, trial: Trial, seconds: float) -> str | None:
    """Reason why a trial broke; None if it gave a verdict, which is kept."""
    with working(_try_one, pair, device, trial) as aside:
        try:
            why: str | None = aside.told()
            if why == BEGUN:  # until then another worker may have tried the same
                why = aside.told(seconds)
        except TimeoutError:
            return f"it did not end within {seconds:.0f} s"
        except ChildProcessError as error:
            return f"its process {error}"
    return why


def _try_one(worker: Connection, pair: Pair, device_name: str, trial: Trial) -> None:
    """Runs in a process of its own."""
    from normcore.environment import usable_device
    from normcore.kernels import gpu_verdicts

    device, why = usable_device(device_name), None
    try:
        with gpu_verdicts.alone(device):
            worker.send(BEGUN)
            if pair not in gpu_verdicts.verdicts(device):
                gpu_verdicts.keep(device, pair, trial(pair, device_name))
    except Exception as error:  # whatever torch, Triton, the compiler or the disk raise
        why = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
    worker.send(why)


def _known(device: str) -> Known:
    """
    Raises:
        ChildProcessError: the process that looks ended before it told.
    """
    with working(_look, device) as aside:
        known: Known = aside.told()
    return known


def _look(worker: Connection, device_name: str) -> None:
    """Runs in a process of its own."""
    from normcore.environment import usable_device
    from normcore.kernels import gpu_verdicts

    device = usable_device(device_name)
    verdicts = gpu_verdicts.verdicts(device)
    untried = [pair for pair in FUSED_PAIRS if pair not in verdicts]
    wrong = [pair for pair, verdict in verdicts.items() if verdict.wrong is not None]
    worker.send(Known(untried, wrong, gpu_verdicts.summary(device)))


def _trial(pair: Pair, device_name: str) -> "Verdict":
    from normcore.environment import usable_device
    from normcore.kernels import gpu
    from normcore.kernels.gpu.check import try_out

    return try_out(*pair, usable_device(device_name), gpu.unroll)
