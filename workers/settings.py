"""Settings of a worker: the service's, and how it trains."""

from pydantic import ByteSize, Field, PositiveFloat, PositiveInt

from service.settings import Settings


class WorkerSettings(Settings):
    """``NORMBENCH_*`` variables of a worker process."""

    device: str | None = Field(None, pattern=r"^(cpu|cuda(:\d+)?)$")  # None: a GPU if there is one
    threads: PositiveInt = (
        1  # of torch; more than one pay off above about 500 hidden units, and change the last bits of results
    )
    memory_limit: ByteSize | None = Field(
        None, gt=0
    )  # of a training, as 8GiB; None: the machine's or cgroup's less 0.5 to 2 GiB, shared by its workers
    checkpoint_seconds: PositiveFloat = 30.0  # between two checkpoints
    flush_seconds: PositiveFloat = 0.25  # between two batches of measurements
    grace_seconds: PositiveFloat = 20.0  # for the last checkpoint, before SIGKILL
    stall_seconds: PositiveFloat = (
        1800.0  # an attempt without progress for this time is killed, and the run tried again
    )
