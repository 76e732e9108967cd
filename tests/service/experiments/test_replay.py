"""Recipe that runs an experiment again, over HTTP."""

from dataclasses import replace
from typing import Any

import pytest
from starlette.testclient import TestClient

from service.db import Database
from service.experiments import lifecycle
from service.experiments.examples import RUN
from tests.service.sample_runs import claimed, finished, started, submitted

SQLITE = pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)


def begun_with(db: Database, environment: dict[str, Any]) -> None:
    """Start and end the next run in this environment."""
    lease = claimed(db).lease
    with db.transaction() as session:
        begins = replace(started(), kernel="fused", environment=environment)
        lifecycle.start(session, lease, begins, device="cpu", resumed_from=None)
    finished(db, lease)


def test_a_replay_has_everything_that_decided_the_numbers(client: TestClient, db: Database) -> None:
    assert RUN.environment is not None
    experiment = submitted(db, seeds=[5, 7])
    begun_with(db, RUN.environment)
    begun_with(db, {**RUN.environment, "torch": "2.14.0", "method": "mine 1.2"})
    told = client.get(f"/v1/experiments/{experiment.id}/replay").json()
    assert told["spec"] == experiment.spec
    assert told["fingerprint"] == experiment.fingerprint
    parts = RUN.environment["code"]["parts"]
    assert told["code"] == {"normbench": "0.1.0", "git": RUN.environment["git"], **parts}
    assert told["packages"] == {"python": "3.11.7", "torch": "2.13.0+cpu", "numpy": "2.4.6"}
    assert told["plug_ins"] == {}
    assert told["machine"]["threads"] == "1"
    assert "gpu" not in told["machine"]
    assert told["data"] == RUN.environment["data"]
    first, second = told["runs"]
    assert (first["run_id"], first["seed"], first["kernel"]) == (experiment.runs[0].id, 5, "fused")
    assert (second["packages"]["torch"], second["plug_ins"]) == ("2.14.0", {"method": "mine 1.2"})


@SQLITE
def test_the_replay_of_a_queued_experiment_has_only_the_spec(client: TestClient, db: Database) -> None:
    experiment = submitted(db)
    told = client.get(f"/v1/experiments/{experiment.id}/replay").json()
    assert told["spec"] == experiment.spec
    assert told["code"] == told["packages"] == told["data"] == told["machine"] == {}
    assert [run["state"] for run in told["runs"]] == ["queued"]
