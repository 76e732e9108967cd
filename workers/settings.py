"""Settings of a worker: the service's, and how it trains."""

from pydantic import Field, PositiveFloat, PositiveInt

from service.settings import Settings


class WorkerSettings(Settings):
    """``NORMBENCH_*`` variables of a worker process."""

    device: str | None = Field(None, pattern=r"^(cpu|cuda(:\d+)?)$")  # None: a GPU if there is one
    threads: PositiveInt | None = None  # of torch; None: all cores
    checkpoint_seconds: PositiveFloat = 30.0  # between two checkpoints
    flush_seconds: PositiveFloat = 0.25  # between two batches of measurements
    grace_seconds: PositiveFloat = 20.0  # for the last checkpoint, before SIGKILL
    stall_seconds: PositiveFloat = 1800.0  # a run that does nothing for so long is ended and tried again
