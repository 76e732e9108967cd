"""A run's history and log lines are shown."""

from pathlib import Path

import pytest

from service.db import Database
from service.experiments import lifecycle
from service.settings import Settings
from tests.normbench.cli.commands import from_json, normbench
from tests.normbench.script_server import Answer, scripted
from tests.service.sample_runs import claimed, finished, timing_of


def test_a_runs_history_and_log_lines_are_shown(api: str, spec_file: Path, db: Database, settings: Settings) -> None:
    run_id = from_json("submit", spec_file)["runs"][0]["id"]
    lease = claimed(db).lease
    with db.transaction() as session:
        lifecycle.lose(session, lease, "worker w was killed", max_attempts=5)
    assert "no log lines are stored" in normbench("logs", run_id)
    folder = Path(settings.artifacts_url) / run_id
    folder.mkdir(parents=True)
    told = from_json("logs", run_id)
    assert [(e["attempt"], e["reason"]) for e in told["history"]] == [(1, "worker w was killed")]
    assert told["logs"] == []
    lines = [line.split() for line in normbench("logs", run_id).splitlines()]
    assert any(line[0:1] == ["1"] and line[-4:] == ["worker", "w", "was", "killed"] for line in lines)
    assert any(line[0:1] == ["2"] and line[-1] == "queued" for line in lines)
    assert "run_nope" in normbench("logs", "run_nope", status=2)


def test_the_logs_of_all_attempts_are_shown_the_earliest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    run = {
        "id": "run_1",
        "seed": 0,
        "state": "succeeded",
        "attempt": 11,
        "history": [],
        "timing": None,
        "created_at": "2026-11-22T01:00:00Z",
        "started_at": None,
        "finished_at": "2026-11-22T01:00:09Z",
        "resumed_from_step": 30,
        "error": None,
        "outcome": "completed",
        "result": {"value": 0.5},
    }
    names = ["1.log.txt", "10.log.txt", "2.log.txt", "environment.json", "log.txt", "my.log.txt"]
    files = {"items": [{"name": name, "size": 1, "url": ""} for name in names]}
    texts = [Answer(f"attempt {n}\nsays [/x]\n".encode()) for n in (1, 2, 10, 11)]
    with scripted(*[Answer(run), Answer(files), *texts] * 2) as script:
        monkeypatch.setenv("NORMBENCH_URL", script.url)
        told = from_json("logs", "run_1")
        shown = normbench("logs", "run_1")
    assert told["logs"] == [{"attempt": n, "lines": [f"attempt {n}", "says [/x]"]} for n in (1, 2, 10, 11)]
    asked = [request.path.rpartition("/")[2] for request in script.requests[2:6]]
    assert asked == ["1.log.txt", "2.log.txt", "10.log.txt", "log.txt"]
    assert "attempt 11:\nattempt 11\nsays [/x]\n" in shown
    assert "succeeded, from step 30: completed" in shown


@pytest.mark.parametrize(
    ("probe", "worth"),
    [
        (
            (0.02,) * 9,
            "count: it was alone (reference kernel 20.0 ms and 20.0 ms; 20.0 ms on this machine when it is quiet)",
        ),
        (
            (0.03,) * 9,
            "do not count on boards: the reference kernel took 1.50 times as long as on this machine when it is quiet",
        ),
    ],
)
def test_the_log_shows_where_time_went_and_if_its_seconds_count(
    api: str, spec_file: Path, db: Database, probe: tuple[float, ...], worth: str
) -> None:
    experiment = from_json("submit", spec_file)
    finished(db, claimed(db).lease, timing=timing_of(training=75.0, probe=probe))
    run_id = experiment["runs"][0]["id"]
    told = [line.strip() for line in normbench("logs", run_id).splitlines()]
    at = told.index("Where its time went")
    assert [" ".join(line.split()) for line in told[at + 1 : at + 7]] == [
        "training 1 min 15 s",
        "evaluation 0.5 s",
        "reading and drawing data 0.1 s",
        "building and compiling 0.2 s",
        "warming up 0.1 s",
        f"its seconds {worth}",
    ]
    assert from_json("logs", run_id)["timing"]["evaluation"] == 0.5
    shown = normbench("status", experiment["id"])
    assert ("1 min 15 s*" in shown) == ("do not count" in worth) == ("* not alone on its machine" in shown)
    assert "1 min 15 s" in shown
