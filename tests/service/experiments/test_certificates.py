"""Certificates of time: seconds count if the run was alone on its machine, as far as can be told."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from normcore.events import Timing
from service import results
from service.db import Database
from service.experiments import certificates
from service.experiments.machines import Start
from tests.service.sample_runs import QUIET, begun, claimed, result_of, run_of, started_on, submitted, timing_of

SLOW = tuple(1.5 * seconds for seconds in QUIET)


def ended(db: Database, timing: Timing | None = None, start: Start | None = None) -> dict[str, Any]:
    """Certificate of the next run, which has started and ended with these values."""
    lease = claimed(db).lease
    begun(db, lease)
    with db.transaction() as session:
        results.finish(session, lease, "completed", result_of(), timing or timing_of(), start or started_on())
    timing_shown = run_of(db, lease.run_id).timing
    assert timing_shown is not None
    certificate: dict[str, Any] = timing_shown["certificate"]
    return certificate


def start(probe: tuple[float, ...], **changes: Any) -> Start:
    return Start(**{"machine": started_on().machine, "torch": "2.9", "probe": probe, **changes})


def test_a_run_alone_on_its_machine_is_not_contended(client: TestClient, db: Database) -> None:
    run_id = submitted(db).runs[0].id
    ended(db)
    assert client.get(f"/v1/runs/{run_id}").json()["timing"] == {
        "training": 4.0,
        "evaluation": 0.5,
        "data": 0.1,
        "compile": 0.2,
        "warm_up": 0.05,
        "certificate": {
            "contended": False,
            "reason": None,
            "machine": "here: unknown, 1 thread",
            "before": 0.02,
            "after": 0.02,
            "quiet": 0.02,
            "kernel_ratio": 1.0,
            "windows": 7,
            "slow_share": 0.0,
            "moved": False,
        },
    }


def test_a_run_with_a_slow_probe_at_its_end_is_contended_and_says_why(db: Database) -> None:
    submitted(db)
    certificate = ended(db, timing_of(probe=SLOW))
    assert (certificate["contended"], certificate["quiet"], certificate["after"]) == (True, 0.02, SLOW[0])
    assert certificate["kernel_ratio"] == pytest.approx(1.5)
    assert certificate["reason"] == ("the reference kernel took 1.50 times as long as on this machine when it is quiet")


def test_slow_windows_make_a_run_contended(db: Database) -> None:
    submitted(db)
    certificate = ended(db, timing_of(windows=(9.0, *[0.1] * 6, 0.2, 0.3)))
    assert (certificate["contended"], certificate["windows"], certificate["slow_share"]) == (True, 8, 0.25)
    assert certificate["reason"] == "25% of its windows between evaluations took far longer than the others"


def test_a_run_that_has_moved_is_contended_however_quiet_it_was(db: Database) -> None:
    submitted(db)
    certificate = ended(db, start=start(QUIET, moved=True))
    assert (certificate["contended"], certificate["moved"]) == (True, True)
    assert certificate["reason"] == "the run continued on another machine"


def test_the_quiet_time_of_the_probe_is_learnt_from_earlier_runs_of_the_machine(db: Database) -> None:
    """Three runs give six medians; only then is a run contended that was equally slow before and after."""
    submitted(db, seeds=[0, 1, 2, 3, 4, 5, 6])
    slow = (timing_of(probe=SLOW), start(SLOW))
    assert not ended(db, *slow)["contended"], "nobody knows better yet"
    for _ in range(3):
        ended(db)
    certificate = ended(db, *slow)
    assert (certificate["contended"], certificate["quiet"]) == (True, 0.02)
    assert not ended(db, timing_of(probe=SLOW), start(SLOW, machine="elsewhere"))["contended"]
    assert not ended(db, timing_of(probe=SLOW), start(SLOW, torch="3.0"))["contended"]


def test_only_the_newest_runs_of_a_machine_count(db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    submitted(db, seeds=[0, 1, 2])
    for k in (1, 2, 3):
        ended(db, timing_of(probe=(k / 10,)), start((k / 100,)))
    monkeypatch.setattr(certificates, "EARLIER_RUNS", 2)
    with db.snapshot() as session:
        assert certificates.earlier_medians(session, started_on()) == [0.03, 0.3, 0.02, 0.2]


def test_a_run_that_has_not_ended_has_no_timing(client: TestClient, db: Database) -> None:
    run_id = submitted(db).runs[0].id
    begun(db, claimed(db).lease)
    assert client.get(f"/v1/runs/{run_id}").json()["timing"] is None
