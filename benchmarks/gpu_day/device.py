"""The device that is measured: a GPU, or Triton's interpreter in its place."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import version
from multiprocessing import get_context
from typing import Any

import torch

from benchmarks.kernels.contestants import Contestant, Shape
from benchmarks.kernels.measuring import SHAPES
from normcore.environment import environment
from normcore.kernels import gpu
from normcore.recurrent.unroll import UnrolledCell

PRECISIONS = {"float32": torch.float32, "bfloat16": torch.bfloat16}
SHORT = Shape(2, 2, 2, 3)
"""Shape that the interpreter computes in a moment."""


@dataclass(frozen=True, slots=True)
class Device:
    """Device of the measurements.

    Attributes:
        interpreted: True for the CPU with Triton's interpreter, which computes tiny shapes to try the programs.
    """

    interpreted: bool

    @property
    def kind(self) -> str:
        return "cpu" if self.interpreted else "cuda"

    @property
    def torch(self) -> torch.device:
        return torch.device(self.kind)

    @property
    def shapes(self) -> Sequence[Shape]:
        return (SHORT,) if self.interpreted else SHAPES

    def unroll(self) -> Callable[..., UnrolledCell]:
        """Load the kernels.

        Raises:
            ImportError: there is no triton of a version that fits.
        """
        return gpu.load_unroll()

    def wait(self) -> None:
        """Wait until the device has computed everything."""
        if not self.interpreted:
            torch.cuda.synchronize()

    @contextmanager
    def autocast(self, precision: str) -> Iterator[None]:
        """Compute under autocast inside this context if the precision is bfloat16."""
        with ExitStack() as stack:
            if precision == "bfloat16":
                stack.enter_context(torch.autocast(self.kind, torch.bfloat16))
                if self.interpreted:  # oneDNN has no LSTM in bfloat16 for processors without AVX-512
                    stack.enter_context(torch.backends.mkldnn.flags(enabled=False))
            yield

    def bring(self, contestant: Contestant, precision: str) -> Contestant:
        """Bring a contestant to the device, where it computes under autocast if the precision is bfloat16."""
        return replace(
            contestant,
            outputs=partial(_compute_under, self, precision, contestant),
            module=contestant.module.to(self.torch),
            ended=self.wait,
        )

    def describe(self) -> dict[str, Any]:
        """Describe the device, the versions and the commit."""
        found = environment(self.torch, torch.get_num_threads(), f"triton {version('triton')}")
        told = {name: found[name] for name in ("gpu", "driver", "cuda", "torch", "cpu", "git")}
        cudnn = None if self.interpreted else torch.backends.cudnn.version()  # type: ignore[no-untyped-call]
        return {**told, "triton": version("triton"), "cudnn": cudnn, "interpreted": self.interpreted}


def _compute_under(device: Device, precision: str, contestant: Contestant, x: torch.Tensor) -> torch.Tensor:
    with device.autocast(precision):
        return contestant.outputs(x).float()


def compile_in_parallel(device: Device, work: Callable[..., None], jobs: Sequence[tuple[Any, ...]]) -> dict[str, Any]:
    """Let processes compile kernels, which Triton stores on the disk; then no measurement waits for a compiler.

    Args:
        work: function of a module, called as ``work(device, *job)``; it launches the kernels that later measurements
            need. In the interpreter, which compiles nothing, it is tried with the first job alone.

    Returns:
        The number of jobs and of processes, the sum of the jobs' seconds, and what went wrong in some jobs.
    """
    if device.interpreted:
        return {"jobs": 1, "processes": 1, "seconds_of_jobs": _time_job(work, device, *jobs[0]), "errors": []}
    processes = min(len(jobs), os.cpu_count() or 1)
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        began = [pool.submit(_time_job, work, device, *job) for job in jobs]
        errors = [f"{job}: {task.exception()}"[:500] for job, task in zip(jobs, began, strict=True) if task.exception()]
        seconds = sum(task.result() for task in began if task.exception() is None)
    return {"jobs": len(jobs), "processes": processes, "seconds_of_jobs": seconds, "errors": errors}


def _time_job(work: Callable[..., None], *arguments: Any) -> float:
    """Do a job, and return its seconds. Errors of a compiler may not pass between processes, so their text does."""
    began = time.monotonic()
    try:
        work(*arguments)
    except Exception as error:
        raise RuntimeError(f"{type(error).__name__}: {error}") from None
    return time.monotonic() - began
