"""Settings of a worker: the service's, and how it trains."""

from pydantic import ByteSize, Field, PositiveFloat, PositiveInt

from service.settings import Settings


class WorkerSettings(Settings):
    """``NORMBENCH_*`` variables of a worker process."""

    device: str | None = Field(
        None,
        pattern=r"^(cpu|cuda(:\d+)?)$",
        description="`cpu` or `cuda:N`; a GPU if there is one, when it is not set.",
    )
    threads: PositiveInt = Field(
        1,
        description="Threads of torch. More than one pay off above about 500 hidden units, and change the last bits of"
        " results.",
    )
    memory_limit: ByteSize | None = Field(
        None,
        gt=0,
        description="Memory of a training, as `8GiB`. When it is not set: the memory of the machine or the cgroup, less"
        " an eighth of it (640 MiB to 2 GiB), shared by its workers.",
    )
    checkpoint_seconds: PositiveFloat = Field(30.0, description="Time between two checkpoints.")
    flush_seconds: PositiveFloat = Field(0.25, description="Time between two batches of measurements.")
    grace_seconds: PositiveFloat = Field(20.0, description="Time for the last checkpoint, before SIGKILL.")
    stall_seconds: PositiveFloat = Field(
        1800.0, description="An attempt without progress for this time is killed, and the run is tried again."
    )
