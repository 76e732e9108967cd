"""Experiments, runs, measurements, entries, workers and keys."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "api_keys",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=100), nullable=False),
        sa.Column("sha256", sa.String(length=64), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("revoked_at", TIME, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_keys")),
        sa.UniqueConstraint("sha256", name=op.f("uq_api_keys_sha256")),
    )
    op.create_table(
        "entries",
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("setting", sa.String(length=64), nullable=False),
        sa.Column("task", sa.String(length=64), nullable=False),
        sa.Column("profile", sa.String(length=16), nullable=False),
        sa.Column("method", sa.String(length=64), nullable=False),
        sa.Column("changes", JSON, nullable=False),
        sa.Column("experiments", JSON, nullable=False),
        sa.Column("n_runs", sa.Integer(), nullable=False),
        sa.Column("n_seeds", sa.Integer(), nullable=False),
        sa.Column("n_diverged", sa.Integer(), nullable=False),
        sa.Column("mean", sa.Float(), nullable=True),
        sa.Column("std", sa.Float(), nullable=True),
        sa.Column("ci_low", sa.Float(), nullable=True),
        sa.Column("ci_high", sa.Float(), nullable=True),
        sa.Column("steps_median", sa.Float(), nullable=True),
        sa.Column("steps_reached", sa.Integer(), nullable=False),
        sa.Column("seconds_median", sa.Float(), nullable=True),
        sa.Column("seconds_reached", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("fingerprint", name=op.f("pk_entries")),
    )
    op.create_index("ix_entries_task_profile", "entries", ["task", "profile"])
    op.create_table(
        "experiments",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("fingerprint", sa.String(length=64), nullable=False),
        sa.Column("setting", sa.String(length=64), nullable=False),
        sa.Column("task", sa.String(length=64), nullable=False),
        sa.Column("profile", sa.String(length=16), nullable=False),
        sa.Column("method", sa.String(length=64), nullable=True),
        sa.Column("spec", JSON, nullable=False),
        sa.Column("idempotency_key", sa.String(length=255), nullable=True),
        sa.Column("request_digest", sa.String(length=64), nullable=False),
        sa.Column("created_at", TIME, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_experiments")),
        sa.UniqueConstraint("idempotency_key", name=op.f("uq_experiments_idempotency_key")),
    )
    op.create_index(op.f("ix_experiments_fingerprint"), "experiments", ["fingerprint"])
    op.create_index("ix_experiments_task_profile_id", "experiments", ["task", "profile", "id"])
    op.create_table(
        "workers",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("host", sa.String(length=255), nullable=False),
        sa.Column("pid", sa.Integer(), nullable=False),
        sa.Column("device", sa.String(length=32), nullable=False),
        sa.Column("queues", sa.String(length=64), nullable=False),
        sa.Column("started_at", TIME, nullable=False),
        sa.Column("heartbeat_at", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workers")),
    )
    op.create_index(op.f("ix_workers_heartbeat_at"), "workers", ["heartbeat_at"])
    op.create_table(
        "labels",
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("value", sa.String(length=256), nullable=False),
        sa.Column("experiment_id", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(["experiment_id"], ["experiments.id"], name=op.f("fk_labels_experiment_id")),
        sa.PrimaryKeyConstraint("key", "value", "experiment_id", name=op.f("pk_labels")),
    )
    op.create_table(
        "runs",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("experiment_id", sa.String(length=32), nullable=False),
        sa.Column("seed", sa.Integer(), nullable=False),
        sa.Column("queue", sa.String(length=8), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("max_steps", sa.Integer(), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("times_lost", sa.Integer(), nullable=False),
        sa.Column("history", JSON, nullable=False),
        sa.Column("worker_id", sa.String(length=32), nullable=True),
        sa.Column("lease_expires_at", sa.Float(), nullable=True),
        sa.Column("rung_at", sa.Float(), nullable=True),
        sa.Column("cancel_requested", sa.Boolean(), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("steps_per_second", sa.Float(), nullable=True),
        sa.Column("resumed_from_step", sa.Integer(), nullable=True),
        sa.Column("device", sa.String(length=32), nullable=True),
        sa.Column("kernel", sa.String(length=16), nullable=True),
        sa.Column("environment", JSON, nullable=True),
        sa.Column("outcome", sa.String(length=16), nullable=True),
        sa.Column("value", sa.Float(), nullable=True),
        sa.Column("steps_to_target", sa.Integer(), nullable=True),
        sa.Column("seconds_to_target", sa.Float(), nullable=True),
        sa.Column("result", JSON, nullable=True),
        sa.Column("error", sa.String(), nullable=True),
        sa.Column("created_at", TIME, nullable=False),
        sa.Column("started_at", TIME, nullable=True),
        sa.Column("finished_at", TIME, nullable=True),
        sa.ForeignKeyConstraint(["experiment_id"], ["experiments.id"], name=op.f("fk_runs_experiment_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_runs")),
    )
    op.create_index(op.f("ix_runs_experiment_id"), "runs", ["experiment_id"])
    op.create_index("ix_runs_state_priority_id", "runs", ["state", sa.text("priority DESC"), "id"])
    op.create_table(
        "measurements",
        sa.Column("run_id", sa.String(length=32), nullable=False),
        sa.Column("step", sa.Integer(), nullable=False),
        sa.Column("series", sa.String(length=64), nullable=False),
        sa.Column("value", sa.Float(), nullable=False),
        sa.Column("seconds", sa.Float(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_measurements_run_id")),
        sa.PrimaryKeyConstraint("run_id", "step", "series", name=op.f("pk_measurements")),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    op.drop_table("measurements")
    op.drop_index("ix_runs_state_priority_id", table_name="runs")
    op.drop_index(op.f("ix_runs_experiment_id"), table_name="runs")
    op.drop_table("runs")
    op.drop_table("labels")
    op.drop_index(op.f("ix_workers_heartbeat_at"), table_name="workers")
    op.drop_table("workers")
    op.drop_index("ix_experiments_task_profile_id", table_name="experiments")
    op.drop_index(op.f("ix_experiments_fingerprint"), table_name="experiments")
    op.drop_table("experiments")
    op.drop_index("ix_entries_task_profile", table_name="entries")
    op.drop_table("entries")
    op.drop_table("api_keys")
