"""Clock of training time. It runs during training and is stopped while a listener handles an event."""

import time

import torch


class Clock:
    """Clock that counts the seconds of training. A new clock is stopped."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._seconds = 0.0
        self._since: float | None = None

    @property
    def seconds(self) -> float:
        running = 0.0 if self._since is None else time.perf_counter() - self._since
        return self._seconds + running

    def set(self, seconds: float) -> None:
        """Set the clock to ``seconds`` and stop it."""
        self._seconds, self._since = seconds, None

    def start(self) -> None:
        """Start the clock, or start it again after a stop."""
        self._since = time.perf_counter()

    def stop(self) -> float:
        """Stop the clock and return the seconds so far, without waiting for unfinished work of the device."""
        self._seconds = self.seconds
        self._since = None
        return self._seconds

    def stop_when_done(self) -> float:
        """Wait until the device has finished its work, then stop the clock and return the seconds so far."""
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        return self.stop()
