"""Stored specs of an older version are brought to this one as the service starts."""

from sqlalchemy import select, update

from normcore.spec.evolution import SPEC_VERSION
from service.db import Database
from service.leaderboards.submitted.tables import SubmittedResult
from service.processes.migrate import migrate
from tests.service.given import submitted, submitted_result


def test_a_submitted_result_of_an_older_version_is_on_todays_board(db: Database) -> None:
    known = submitted_result(db)
    outdated = {"spec_version": SPEC_VERSION - 1, "fingerprint": "", "problem": "", "budget": 1, "changes": {"a": 1}}
    with db.transaction() as session:
        session.execute(update(SubmittedResult).values(outdated))
    migrate(db)
    with db.snapshot() as session:
        row = session.scalars(select(SubmittedResult)).one()
    assert (row.spec_version, row.fingerprint) == (SPEC_VERSION, known.fingerprint)
    assert (row.problem, row.budget, row.changes) == (known.problem, known.budget, {})
    assert row.fingerprint == submitted(db).fingerprint, "that of an experiment with its spec"
    assert (row.values, row.provenance) == (known.values, known.provenance)
