"""Experiments, their runs and what the runs measured."""

from datetime import datetime
from typing import Any

from sqlalchemy import BigInteger, ColumnElement, Float, ForeignKey, Index, Integer, String, false, select, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from service.db import Base, Json, UTCDateTime, no_index

ID = String(32)


class Experiment(Base):
    """A submitted spec with its seeds. It never changes."""

    __tablename__ = "experiments"

    id: Mapped[str] = mapped_column(ID, primary_key=True)
    fingerprint: Mapped[str] = mapped_column(String(64), index=True)
    setting: Mapped[str] = mapped_column(String(64))  # fingerprint of everything but the norm
    task: Mapped[str] = mapped_column(String(64))
    profile: Mapped[str] = mapped_column(String(16))
    method: Mapped[str | None] = mapped_column(String(64))  # null if an analysis takes no norm
    problem: Mapped[str | None] = mapped_column(String(16))  # what its board ranks; null for an analysis
    budget: Mapped[int | None] = mapped_column(BigInteger)  # examples that its training may see; null for an analysis
    spec_version: Mapped[int] = mapped_column(Integer, server_default="0")  # see normcore.spec.evolution
    spec: Mapped[dict[str, Any]] = mapped_column(Json)
    idempotency_key: Mapped[str | None] = mapped_column(String(255), unique=True)
    request_digest: Mapped[str] = mapped_column(String(64))
    sweep_id: Mapped[str | None] = mapped_column(ID, index=True)  # the sweep of this experiment
    created_at: Mapped[datetime] = mapped_column(UTCDateTime)

    runs: Mapped[list["Run"]] = relationship(order_by="Run.id", back_populates="experiment")

    __table_args__ = (Index("ix_experiments_task_profile_id", "task", "profile", "id"),)


def of_experiment(experiment_id: str) -> ColumnElement[bool]:
    """Condition for runs of an experiment."""
    return Run.experiment_id == experiment_id


def of_sweep(sweep_id: str) -> ColumnElement[bool]:
    """Condition for runs of a sweep's experiments."""
    return Run.experiment_id.in_(select(Experiment.id).where(Experiment.sweep_id == sweep_id))


class Label(Base):
    """A label of an experiment, by which users search."""

    __tablename__ = "labels"

    key: Mapped[str] = mapped_column(String(64), primary_key=True)
    value: Mapped[str] = mapped_column(String(256), primary_key=True)
    experiment_id: Mapped[str] = mapped_column(ForeignKey("experiments.id"), primary_key=True)


class Run(Base):
    """One seed of an experiment: a job in the queue, with a state."""

    __tablename__ = "runs"

    id: Mapped[str] = mapped_column(ID, primary_key=True)
    experiment_id: Mapped[str] = mapped_column(ForeignKey("experiments.id"), index=True)
    seed: Mapped[int] = mapped_column(Integer)
    queue: Mapped[str] = mapped_column(String(8))  # the device that the spec asks for
    needs_fused: Mapped[bool] = mapped_column(default=False, server_default=false())  # fused kernels, by name
    memory_bytes: Mapped[int | None] = mapped_column(BigInteger)  # bytes that its tensors need; null if not known
    priority: Mapped[int] = mapped_column(Integer)
    max_steps: Mapped[int] = mapped_column(Integer)

    state: Mapped[str] = mapped_column(String(16))
    turn: Mapped[int] = mapped_column(Integer, default=0, server_default="0")  # its place in the queue, see turns.py
    attempt: Mapped[int] = mapped_column(Integer, default=1)
    started_attempt: Mapped[int | None] = mapped_column(Integer)  # last attempt that trained, from resumed_from_step on
    times_lost: Mapped[int] = mapped_column(Integer, default=0)  # count since its last new checkpoint
    times_deferred: Mapped[int] = mapped_column(Integer, default=0, server_default="0")  # count since then, too
    history: Mapped[list[dict[str, Any]]] = mapped_column(Json, default=list)  # what went wrong, and when
    worker_id: Mapped[str | None] = mapped_column(ID)
    lease_expires_at: Mapped[float | None] = mapped_column(Float)
    not_before: Mapped[float | None] = mapped_column(Float)  # queued, but not ready before this time
    notified_at: Mapped[float | None] = mapped_column(Float)  # when workers were last sent a message about it
    cancel_requested: Mapped[bool] = mapped_column(default=False)

    step: Mapped[int] = mapped_column(Integer, default=0)
    seconds: Mapped[float] = mapped_column(Float, default=0.0)
    steps_per_second: Mapped[float | None] = mapped_column(Float)
    phase: Mapped[str | None] = mapped_column(String(32))  # phase of an evaluation
    resumed_from_step: Mapped[int | None] = mapped_column(Integer)
    device: Mapped[str | None] = mapped_column(String(32))
    kernel: Mapped[str | None] = mapped_column(String(64))
    environment: Mapped[dict[str, Any] | None] = mapped_column(Json)
    code: Mapped[str | None] = mapped_column(String(64))  # digest of the spec's own parts, see normcore.own_code
    code_at: Mapped[datetime | None] = mapped_column(UTCDateTime)  # when its training began, not when it resumed
    timing: Mapped[dict[str, Any] | None] = mapped_column(Json)  # if a training succeeded, see certificates
    machine: Mapped[str | None] = mapped_column()  # the machine of its certificate

    outcome: Mapped[str | None] = mapped_column(String(16))
    value: Mapped[float | None] = mapped_column(Float)
    result: Mapped[dict[str, Any] | None] = mapped_column(Json)
    error: Mapped[str | None] = mapped_column()

    created_at: Mapped[datetime] = mapped_column(UTCDateTime)
    started_at: Mapped[datetime | None] = mapped_column(UTCDateTime)
    finished_at: Mapped[datetime | None] = mapped_column(UTCDateTime)

    experiment: Mapped[Experiment] = relationship(back_populates="runs")

    __table_args__ = (
        Index(
            "ix_runs_state_queue_turn",
            *("state", "queue", "needs_fused", text("priority DESC"), "turn", "id"),
            "memory_bytes",  # a worker passes over the runs that do not fit it without reading them
        ),
        Index("ix_runs_machine_id", "machine", "id"),
    )


HAS_SUCCEEDED: ColumnElement[bool] = no_index(Run.state) == "succeeded"
"""Condition for runs that are found by another index. Most runs have succeeded, so the index of states finds nearly
all runs of the database."""


class Measurement(Base):
    """One value of one series at one step. The primary key stores a run's rows together, in the order of steps."""

    __tablename__ = "measurements"

    run_id: Mapped[str] = mapped_column(ForeignKey("runs.id"), primary_key=True)
    step: Mapped[int] = mapped_column(Integer, primary_key=True)
    series: Mapped[str] = mapped_column(String(64), primary_key=True)
    value: Mapped[float] = mapped_column(Float)
    seconds: Mapped[float] = mapped_column(Float)
    attempt: Mapped[int] = mapped_column(Integer)

    __table_args__ = ({"sqlite_with_rowid": False},)
