"""Table of submitted results: one row for each result."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Index, Integer, String
from sqlalchemy.orm import Mapped, mapped_column

from service.db import Base, Json, UTCDateTime


class SubmittedResult(Base):
    """Result that was measured elsewhere; it never changes, and may be withdrawn."""

    __tablename__ = "submitted_results"

    id: Mapped[str] = mapped_column(String(32), primary_key=True)
    fingerprint: Mapped[str] = mapped_column(String(64), index=True)
    task: Mapped[str] = mapped_column(String(64))
    profile: Mapped[str] = mapped_column(String(16))
    method: Mapped[str] = mapped_column(String(64))
    problem: Mapped[str] = mapped_column(String(16))
    options: Mapped[dict[str, Any]] = mapped_column(Json)  # the task's options, which make the problem
    budget: Mapped[int] = mapped_column(BigInteger)  # examples that each training saw at most
    changes: Mapped[dict[str, Any]] = mapped_column(Json)
    spec_version: Mapped[int] = mapped_column(Integer)
    spec: Mapped[dict[str, Any]] = mapped_column(Json)

    values: Mapped[list[dict[str, Any]]] = mapped_column(Json)  # seed and value
    provenance: Mapped[dict[str, Any]] = mapped_column(Json)
    idempotency_key: Mapped[str | None] = mapped_column(String(255), unique=True)
    request_digest: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[datetime] = mapped_column(UTCDateTime)
    withdrawn_at: Mapped[datetime | None] = mapped_column(UTCDateTime)

    __table_args__ = (Index("ix_submitted_results_task_profile_problem", "task", "profile", "problem"),)
