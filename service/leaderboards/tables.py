"""Table of entries: one row for each fingerprint that has succeeded runs, with the pooled results."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, Index, Integer, String
from sqlalchemy.orm import Mapped, mapped_column

from service.db import Base, Json, UTCDateTime


class Entry(Base):
    """A leaderboard entry as it is now. The module ``entries`` keeps it up to date with the runs."""

    __tablename__ = "entries"

    fingerprint: Mapped[str] = mapped_column(String(64), primary_key=True)
    setting: Mapped[str] = mapped_column(String(64))
    task: Mapped[str] = mapped_column(String(64))
    profile: Mapped[str] = mapped_column(String(16))
    method: Mapped[str] = mapped_column(String(64))
    problem: Mapped[str] = mapped_column(String(16))
    options: Mapped[dict[str, Any]] = mapped_column(Json)  # the task's options, which make the problem
    budget: Mapped[int] = mapped_column(BigInteger)  # examples that a training may see
    changes: Mapped[dict[str, Any]] = mapped_column(Json)
    experiments: Mapped[list[str]] = mapped_column(Json)  # newest first, at most MAX_EXPERIMENTS

    code: Mapped[str | None] = mapped_column(String(64))  # of all its runs; null if they did not record it
    code_at: Mapped[datetime | None] = mapped_column(UTCDateTime)  # when the newest run of this code started
    parts: Mapped[dict[str, Any] | None] = mapped_column(Json)  # tag and digest by part, see codes.py
    n_runs: Mapped[int] = mapped_column(Integer)  # succeeded runs of this code
    n_older: Mapped[int] = mapped_column(Integer, default=0, server_default="0")  # runs of older code; not counted
    results: Mapped[list[dict[str, Any]]] = mapped_column(Json)  # the run that counts, for each seed
    conflicting_seeds: Mapped[list[int]] = mapped_column(Json)
    pooled: Mapped[dict[str, Any]] = mapped_column(Json)  # the results' statistics

    __table_args__ = (Index("ix_entries_task_profile_problem_n_runs", "task", "profile", "problem", "n_runs"),)
