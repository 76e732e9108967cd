"""Clock of a training: seconds by part, such as updates, data or evaluation."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal, get_args

import torch

from normcore.clock import Clock

Part = Literal["compile", "data", "warm_up", "training", "evaluation"]
PARTS: tuple[Part, ...] = get_args(Part)


class RunClock:
    """Clocks for the parts of a run. At most one clock runs at a time; at first no clock runs."""

    def __init__(self, device: torch.device) -> None:
        self._waits = device.type == "cpu"
        self._clocks = {part: Clock(device) for part in PARTS}
        self._part: Part = "data"
        self._runs = False

    @property
    def seconds(self) -> float:
        """Training seconds so far: time of the updates only."""
        return self._clocks["training"].seconds

    @property
    def spent(self) -> dict[Part, float]:
        """Seconds so far, by part of the run."""
        return {part: clock.seconds for part, clock in self._clocks.items()}

    def add(self, spent: Mapping[Part, float]) -> None:
        """Add the seconds that an earlier process spent, by part. The clock must be stopped."""
        for part, clock in self._clocks.items():
            clock.set(clock.seconds + spent[part])

    def start(self, part: Part) -> None:
        """Stop the running clock, and start the clock of ``part``."""
        self.stop()
        self._part, self._runs = part, True
        self._clocks[part].start()

    def stop(self) -> float:
        """Stop the running clock without waiting for unfinished work of the device; returns the training seconds."""
        if self._runs:
            self._clocks[self._part].stop()
        self._runs = False
        return self.seconds

    def stop_when_done(self) -> float:
        """Wait until the device has finished its work, then stop the running clock; returns the training seconds."""
        self._clocks[self._part].stop_when_done()
        self._runs = False
        return self.seconds

    @contextmanager
    def count_to(self, part: Part) -> Iterator[None]:
        """Count the time inside this context to ``part``; only on the CPU.

        With a GPU nothing changes: the GPU goes on computing, and its time stays with the part that it computes.
        """
        if not self._waits:
            yield
            return
        interrupted = self._part
        self.start(part)
        yield
        self.start(interrupted)
