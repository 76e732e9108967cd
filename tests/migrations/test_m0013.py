"""Migration 0013 pools entries of older rules again."""

import json
from typing import Any

import pytest
from sqlalchemy import text

from service.db import Database
from service.leaderboards.queries import BoardRequest, leaderboard
from service.leaderboards.schemas import Entry
from service.processes.migrate import migrate
from tests.service.leaderboards.boards import result


def entry_of(db: Database) -> Entry:
    with db.snapshot() as session:
        [entry] = leaderboard(session, BoardRequest("permuted_digits", "smoke")).entries
    return entry


def test_old_scores_and_intervals_are_recomputed(db: Database) -> None:
    """Hand computation: for .01, .01 and .40, with no skill at .1, the score is (.1 + .1 + .4) / 3; its interval is
    cut at 0.
    """
    result(db, "none", [0.01, 0.01, 0.40], [10, 10, 10])
    with db.engine.begin() as connection:
        pooled: Any = connection.execute(text("SELECT pooled FROM entries")).scalar_one()
        stored = json.loads(pooled) if isinstance(pooled, str) else pooled
        before = {**stored, "score": 0.14, "value": {**stored["value"], "ci95": [-0.59, 0.87]}}
        del before["gap"]
        connection.execute(text("UPDATE entries SET pooled = :pooled"), {"pooled": json.dumps(before)})
        connection.execute(text("ALTER TABLE entries DROP COLUMN parts"))
        connection.execute(text("DROP INDEX ix_runs_state_queue_turn"))  # migration 0016 added a column to it
        connection.execute(text("ALTER TABLE runs DROP COLUMN memory_bytes"))  # column of migration 0015
        connection.execute(text("CREATE INDEX ix_runs_state_queue_turn ON runs (state)"))
        connection.execute(text("UPDATE alembic_version SET version_num = '0012'"))
    migrate(db)
    found = entry_of(db)
    assert found.value is not None
    assert found.value.mean == pytest.approx(0.14)
    assert found.value.ci95 == pytest.approx((0, 0.873561), abs=1e-6)  # .14 +- 5.642778 x .13
    assert found.score == pytest.approx(0.2)
    assert found.gap
