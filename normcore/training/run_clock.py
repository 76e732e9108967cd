"""A training's seconds, kept apart by what they were spent on."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Literal, get_args

import torch

from normcore.clock import Clock

Part = Literal["compile", "data", "warm_up", "training", "evaluation"]
PARTS: tuple[Part, ...] = get_args(Part)


class RunClock:
    """One clock for each part of a run, of which one runs at a time; begins stopped."""

    def __init__(self, device: torch.device) -> None:
        self._waits = device.type == "cpu"
        self._clocks = {part: Clock(device) for part in PARTS}
        self._part: Part = "data"
        self._runs = False

    @property
    def seconds(self) -> float:
        """Seconds of training so far: of updates alone."""
        return self._clocks["training"].seconds

    @property
    def spent(self) -> dict[Part, float]:
        """Seconds so far, by part."""
        return {part: clock.seconds for part, clock in self._clocks.items()}

    def add(self, spent: Mapping[Part, float]) -> None:
        """Count what an earlier process spent as well; the clock is stopped."""
        for part, clock in self._clocks.items():
            clock.set(clock.seconds + spent[part])

    def start(self, part: Part) -> None:
        """Go on, for this part alone."""
        self.stop()
        self._part, self._runs = part, True
        self._clocks[part].start()

    def stop(self) -> float:
        """Stand still, and tell the seconds of training; work that the device has not finished is not waited for."""
        if self._runs:
            self._clocks[self._part].stop()
        self._runs = False
        return self.seconds

    def stop_when_done(self) -> float:
        """Stand still once the device has caught up, and tell the seconds of training."""
        self._clocks[self._part].stop_when_done()
        self._runs = False
        return self.seconds

    @contextmanager
    def aside(self, part: Part) -> Iterator[None]:
        """Inside, the CPU's time is this part's. A GPU computes meanwhile: its time stays with what it computes."""
        if not self._waits:
            yield
            return
        interrupted = self._part
        self.start(part)
        yield
        self.start(interrupted)
