"""Tables of sweeps and their cells. The table of experiments names the sweep of each experiment."""

from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, Integer, String
from sqlalchemy.orm import Mapped, mapped_column

from service.db import Base, Json, UTCDateTime
from service.experiments.tables import ID


class Sweep(Base):
    """A sweep as it was posted, and the number of runs that it has now."""

    __tablename__ = "sweeps"

    id: Mapped[str] = mapped_column(ID, primary_key=True)
    posted: Mapped[dict[str, Any]] = mapped_column(Json)  # with defaults for omitted fields
    n_cells: Mapped[int] = mapped_column(Integer)
    n_runs: Mapped[int] = mapped_column(Integer)  # with reused runs
    reused_runs: Mapped[int] = mapped_column(Integer)
    is_settled: Mapped[bool] = mapped_column(index=True)  # whether it gets no more seeds
    idempotency_key: Mapped[str | None] = mapped_column(String(255), unique=True)
    request_digest: Mapped[str] = mapped_column(String(64))
    created_at: Mapped[datetime] = mapped_column(UTCDateTime)


class SweepCell(Base):
    """One combination of values. All cells of a sweep have different fingerprints."""

    __tablename__ = "sweep_cells"

    sweep_id: Mapped[str] = mapped_column(ForeignKey("sweeps.id"), primary_key=True)
    number: Mapped[int] = mapped_column(Integer, primary_key=True)
    values: Mapped[dict[str, Any]] = mapped_column(Json)  # by dotted path
    fingerprint: Mapped[str] = mapped_column(String(64), index=True)
    experiment_id: Mapped[str] = mapped_column(ForeignKey("experiments.id"))  # its own, or a reused one
    seeds: Mapped[list[int]] = mapped_column(Json)
    reused: Mapped[list[str]] = mapped_column(Json)  # runs of earlier experiments that count for some of the seeds
