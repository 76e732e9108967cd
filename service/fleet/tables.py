"""Table of the live workers, with one row for each worker."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Float, Integer, String, false
from sqlalchemy.orm import Mapped, mapped_column

from service.db import Base, Json, UTCDateTime


class Worker(Base):
    """A worker process. Its row is removed when it stops, or some time after its last heartbeat."""

    __tablename__ = "workers"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    host: Mapped[str] = mapped_column(String(255))
    pid: Mapped[int] = mapped_column(Integer)
    device: Mapped[str] = mapped_column(String(32))
    queues: Mapped[str] = mapped_column(String(64))  # comma-separated
    fused: Mapped[bool | None] = mapped_column(server_default=false())  # has fused kernels; null until it knows
    code: Mapped[dict[str, Any] | None] = mapped_column(Json)  # digests by part and tag, see normcore.own_code
    code_at: Mapped[float | None] = mapped_column(Float)  # when it looked, in seconds since 1970
    memory_bytes: Mapped[int | None] = mapped_column(BigInteger)  # bytes that a training may take; null if not known
    started_at: Mapped[datetime] = mapped_column(UTCDateTime)
    heartbeat_at: Mapped[float] = mapped_column(Float, index=True)  # seconds since 1970, by the database's clock
