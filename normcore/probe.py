"""Reference kernel: a fixed piece of work that is timed as a run begins and as the run ends. The times show if
something else kept the machine busy.

The kernel is torch's own LSTM. It does not use this project's code, so its time on a quiet machine does not change.
"""

import time

import torch
from torch import nn

STEPS, BATCH_SIZE, SIZE = 100, 64, 100
TIMES = 9


def probe(device: torch.device) -> tuple[float, ...]:
    """Time forward and backward passes of the reference kernel, with torch's present number of threads. Returns the
    seconds of each of the ``TIMES`` repetitions. The state of torch's random generators does not change."""
    generator = torch.Generator().manual_seed(0)
    with torch.random.fork_rng(devices=[]):
        lstm = nn.LSTM(SIZE, SIZE).to(device)
    x = torch.randn(STEPS, BATCH_SIZE, SIZE, generator=generator).to(device)
    return tuple(_seconds(lstm, x) for _ in range(TIMES))


def _seconds(lstm: nn.LSTM, x: torch.Tensor) -> float:
    _wait_for(x.device)
    began = time.perf_counter()
    lstm.zero_grad(set_to_none=True)
    lstm(x)[0].sum().backward()
    _wait_for(x.device)
    return time.perf_counter() - began


def _wait_for(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
