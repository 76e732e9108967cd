"""The reference kernel: a fixed piece of work, timed before and after a run, which shows what else its machine did.

It is torch's own LSTM and depends on nothing of ours, so that its time on a quiet machine stays what it was.
"""

import time

import torch
from torch import nn

STEPS, BATCH_SIZE, SIZE = 100, 64, 100
TIMES = 9


def probe(device: torch.device) -> tuple[float, ...]:
    """Seconds of forward and backward, some times, with the threads that torch has; no generator moves."""
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
