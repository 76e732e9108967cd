"""One row for each fingerprint that has succeeded runs: its results, pooled."""

from typing import Any

from sqlalchemy import BigInteger, Float, Index, Integer, String
from sqlalchemy.orm import Mapped, mapped_column

from service.db import Base, Json


class Entry(Base):
    """A leaderboard entry as it stands now; kept in step with the runs by ``entries.refresh``."""

    __tablename__ = "entries"

    fingerprint: Mapped[str] = mapped_column(String(64), primary_key=True)
    setting: Mapped[str] = mapped_column(String(64))
    task: Mapped[str] = mapped_column(String(64))
    profile: Mapped[str] = mapped_column(String(16))
    method: Mapped[str] = mapped_column(String(64))
    problem: Mapped[str] = mapped_column(String(16))
    options: Mapped[dict[str, Any]] = mapped_column(Json)  # the task's, which make the problem
    budget: Mapped[int] = mapped_column(BigInteger)  # examples that a training may see
    changes: Mapped[dict[str, Any]] = mapped_column(Json)
    kernel: Mapped[str | None] = mapped_column(String(64))  # of its runs; null of entries from before it was kept
    experiments: Mapped[list[str]] = mapped_column(Json)  # newest first, at most MAX_EXPERIMENTS

    results: Mapped[list[dict[str, Any]]] = mapped_column(Json)  # every run's, which all statistics come from
    values: Mapped[dict[str, Any]] = mapped_column(Json)  # pooled, of all metrics
    n_runs: Mapped[int] = mapped_column(Integer)
    n_seeds: Mapped[int] = mapped_column(Integer)
    n_diverged: Mapped[int] = mapped_column(Integer)
    mean: Mapped[float | None] = mapped_column(Float)
    std: Mapped[float | None] = mapped_column(Float)
    ci_low: Mapped[float | None] = mapped_column(Float)
    ci_high: Mapped[float | None] = mapped_column(Float)
    steps_median: Mapped[float | None] = mapped_column(Float)
    steps_reached: Mapped[int] = mapped_column(Integer)
    seconds_median: Mapped[float | None] = mapped_column(Float)
    seconds_reached: Mapped[int] = mapped_column(Integer)

    __table_args__ = (Index("ix_entries_task_profile_problem", "task", "profile", "problem"),)
