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
        description="Whether it has fused kernels, and so takes runs that ask for them; null while it compiles them."
    )
    run_id: str | None = Field(description="The run it is training.")
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
    oldest_seconds: float | None = Field(description="Since the oldest queued run was submitted; null if none is.")
    workers: int = Field(description="Live workers that take its runs.")
    expected_wait_seconds: float | None = Field(
        description="Of a run submitted now; null while no worker takes it, or no run has ended yet."
    )


class QueueList(BaseModel):
    """The queue of each device, in one page."""

    items: list[QueueOut]
    next_cursor: None = None
