"""Training time: it runs while there is training, and stands still while a listener handles an event."""

import time

import torch


class Clock:
    """Seconds of training so far; begins stopped."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._seconds = 0.0
        self._since: float | None = None

    @property
    def seconds(self) -> float:
        running = 0.0 if self._since is None else time.perf_counter() - self._since
        return self._seconds + running

    def set(self, seconds: float) -> None:
        """Begin from ``seconds``, stopped."""
        self._seconds, self._since = seconds, None

    def start(self) -> None:
        """Go on."""
        self._since = time.perf_counter()

    def stop(self) -> float:
        """Stand still, and tell the seconds so far; work that the device has not finished is not waited for."""
        self._seconds = self.seconds
        self._since = None
        return self._seconds

    def stop_when_done(self) -> float:
        """Stand still once the device has caught up, and tell the seconds so far."""
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        return self.stop()
