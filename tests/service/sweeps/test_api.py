"""All of a sweep is cancelled and retried as one."""

import pytest

from service.db import Database
from service.errors import NotFound
from service.sweeps import api
from tests.service.sample_runs import claimed, recorded
from tests.service.sweeps.sample_sweeps import SPEC, posted, shown, stored


def test_all_of_a_sweep_is_cancelled_and_retried_as_one(db: Database) -> None:
    sweep_id = stored(db, posted(spec={**SPEC, "seeds": [0, 1]}))
    running = claimed(db).lease
    with db.transaction() as session:
        api.cancel(session, sweep_id)
    assert recorded(db, running) is True, "its worker hears of it"
    assert [one.state for one in shown(db, sweep_id).cells] == ["running", "cancelled"]
    with db.transaction() as session:
        notifications = api.retry(session, sweep_id)
    assert len(notifications) == 3
    assert shown(db, sweep_id).progress.done == 0
    for verb in (api.cancel, api.retry):
        with pytest.raises(NotFound, match="no sweep 'swp_nope'"), db.transaction() as session:
            verb(session, "swp_nope")
