"""Migration 0007 adds to each old result when the run was last below its target."""

from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from service.db import Database
from service.processes.migrate import migrate

JSON = sa.JSON().with_variant(postgresql.JSONB(), "postgresql")
AT = datetime(2026, 1, 1, tzinfo=UTC)
EXPERIMENTS = sa.table(
    "experiments",
    *(sa.column(name) for name in ("id", "fingerprint", "setting", "task", "profile", "request_digest")),
    sa.column("spec", JSON),
    sa.column("created_at", sa.DateTime(timezone=True)),
)
RUNS = sa.table(
    "runs",
    *(sa.column(name) for name in ("id", "experiment_id", "seed", "queue", "priority", "max_steps", "state")),
    *(sa.column(name) for name in ("attempt", "times_lost", "cancel_requested", "needs_fused", "step", "seconds")),
    sa.column("history", JSON),
    sa.column("result", JSON),
    sa.column("created_at", sa.DateTime(timezone=True)),
)
FINDINGS = {"findings": [], "seconds": 1.5}


def trained(steps_to_target: float | None) -> dict[str, Any]:
    return {"metric": "accuracy", "value": 0.5, "steps_to_target": steps_to_target, "train_seconds": 4.0}


def test_only_a_run_that_missed_its_target_was_below_it_until_its_end(database_url: str) -> None:
    db = Database(database_url)
    migrate(db, "0006")
    before = {"reached": trained(20.0), "missed": trained(None), "analysed": FINDINGS}
    with db.engine.begin() as connection:
        columns = {"id": "exp", "fingerprint": "f", "setting": "s", "task": "t", "profile": "p", "request_digest": "d"}
        connection.execute(sa.insert(EXPERIMENTS).values(spec={}, created_at=AT, **columns))
        for seed, (name, result) in enumerate(before.items()):
            connection.execute(sa.insert(RUNS).values(_run(name, seed, result)))
    migrate(db, "0007")
    with db.engine.connect() as connection:
        after = dict(connection.execute(sa.select(RUNS.c.id, RUNS.c.result)).all())
    db.close()
    assert after == {
        "reached": {**trained(20.0), "steps_below_target": None, "seconds_below_target": None},
        "missed": {**trained(None), "steps_below_target": 40.0, "seconds_below_target": 4.0},
        "analysed": FINDINGS,
    }


def _run(id: str, seed: int, result: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": id,
        "experiment_id": "exp",
        "seed": seed,
        "queue": "cpu",
        "priority": 5,
        "max_steps": 40,
        "state": "succeeded",
        "attempt": 1,
        "times_lost": 0,
        "cancel_requested": False,
        "needs_fused": False,
        "step": 40,
        "seconds": 4.0,
        "history": [],
        "result": result,
        "created_at": AT,
    }
