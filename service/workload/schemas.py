"""Answer types of workers and queues."""

from datetime import datetime

from pydantic import BaseModel, Field


class WorkerOut(BaseModel):
    """A live worker and the run it is training."""

    id: str
    host: str
    pid: int
    device: str
    queues: list[str] = Field(description="The devices that runs may have asked for.")
    fused: bool | None = Field(
        description="Whether it has fused kernels, and takes runs that ask for them; null while it compiles them."
    )
    run_id: str | None = Field(description="Id of the run that it is training; null without a run.")
    started_at: datetime
    heartbeat_at: datetime


class WorkerList(BaseModel):
    """All live workers, in one page."""

    items: list[WorkerOut]
    next_cursor: None = None


class QueueOut(BaseModel):
    """Queue of a device that runs may ask for."""

    device: str
    queued: int
    running: int
    oldest_seconds: float | None = Field(description="Age of the oldest queued run in seconds; null if none.")
    workers: int = Field(description="Live workers that take runs from this queue.")
    expected_wait_seconds: float | None = Field(
        description="Expected wait of a run submitted now; null if no worker takes it, or no run has ended yet."
    )


class QueueList(BaseModel):
    """The queue of each device, in one page."""

    items: list[QueueOut]
    next_cursor: None = None
