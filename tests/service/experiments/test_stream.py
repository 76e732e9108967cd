"""A run as it happens, over a real connection: in order, from wherever a client broke off, to its end."""

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import httpx
import pytest
from starlette.testclient import TestClient

from normcore.spec.training import MAX_STEPS
from service.db import Database
from service.experiments import lifecycle, stream
from service.experiments.lifecycle import Lease
from service.experiments.stream import RunPosition, read_position, write_position
from service.experiments.tables import Run
from service.http import permits
from service.keys import browser, keyring
from service.settings import Settings
from tests.service.live import live_api
from tests.service.sample_runs import begun, claimed, failed, finished, measured, recorded, submitted

TIMEOUT = 20.0  # seconds


@dataclass(frozen=True)
class Event:
    kind: str
    id: str
    data: dict[str, Any]

    @property
    def step(self) -> int:
        return int(self.data["step"])


def parsed(lines: Iterator[str]) -> Iterator[Event]:
    """Events as the HTML standard reads them; comments are skipped."""
    fields: dict[str, str] = {}
    for line in lines:
        if line.startswith(":"):
            continue
        if line:
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
        elif fields:
            yield Event(fields["event"], fields["id"], json.loads(fields["data"]))
            fields = {}


def path_of(id: str) -> str:
    return f"/v1/{'runs' if id.startswith('run_') else 'experiments'}/{id}/events"


def listen(url: str, id: str, last_event_id: str | None = None) -> Iterator[Event]:
    headers = {"Last-Event-ID": last_event_id} if last_event_id else {}
    with httpx.stream("GET", url + path_of(id), headers=headers, timeout=TIMEOUT) as answer:
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        assert answer.headers["cache-control"] == "no-cache"
        yield from parsed(answer.iter_lines())


def whole(client: TestClient, id: str, last_event_id: str | None = None) -> list[Event]:
    """All events of a run or an experiment that has ended."""
    headers = {"Last-Event-ID": last_event_id} if last_event_id else {}
    answer = client.get(path_of(id), headers=headers)
    assert answer.status_code == 200
    return list(parsed(iter(answer.text.split("\n"))))


@pytest.fixture
def url(settings: Settings) -> Iterator[str]:
    with live_api(settings) as url:
        yield url


def test_a_client_sees_a_run_from_the_queue_to_its_end_as_it_happens(url: str, db: Database) -> None:
    run_id = submitted(db).runs[0].id
    events = listen(url, run_id)

    event = next(events)
    assert (event.kind, event.data["state"], event.data["id"]) == ("state", "queued", run_id)
    lease = claimed(db).lease
    event = next(events)
    assert (event.kind, event.data["state"], event.data["attempt"]) == ("state", "running", 1)
    begun(db, lease)
    recorded(db, lease, measured(5, valid__accuracy=0.25, valid__loss=2.0))
    event = next(events)
    assert (event.kind, event.id) == ("measurement", "1-5")
    values = {"valid.accuracy": 0.25, "valid.loss": 2.0}
    assert event.data == {"run_id": run_id, "attempt": 1, "step": 5, "seconds": 2.5, "values": values}
    recorded(db, lease, measured(10), measured(15))
    assert [next(events).step for _ in range(2)] == [10, 15]
    recorded(db, lease, measured(20))
    finished(db, lease)
    event = next(events)
    assert (event.kind, event.step) == ("measurement", 20)
    event = next(events)
    assert (event.kind, event.id, event.data["state"]) == ("state", "1-end", "succeeded")
    assert event.data["result"]["value"] == 0.5
    assert next(events, None) is None, "the stream ends with the run"


def test_two_attempts_that_resume_from_the_same_checkpoint_are_both_told(url: str, db: Database) -> None:
    run_id = submitted(db).runs[0].id
    lease = claimed(db).lease
    begun(db, lease, 5, resumed_from=5)
    with db.transaction() as session:
        lifecycle.release(session, lease, "its worker stopped")
    lease = claimed(db).lease
    events = listen(url, run_id)
    event = next(events)
    assert (event.data["attempt"], event.data["resumed_from_step"]) == (2, None), "it has not begun"
    begun(db, lease, 5, resumed_from=5)
    recorded(db, lease, measured(10))
    event = next(events)
    assert (event.kind, event.data["attempt"], event.data.get("resumed_from_step")) == ("state", 2, 5)


def test_a_client_that_comes_back_after_the_end_is_told_to_stop(client: TestClient, db: Database) -> None:
    run_id = submitted(db).runs[0].id
    failed(db, claimed(db).lease)
    (end,) = whole(client, run_id)
    assert (end.kind, end.data["state"]) == ("state", "failed")
    assert client.get(f"/v1/runs/{run_id}/events", headers={"Last-Event-ID": end.id}).status_code == 204


def test_a_client_that_comes_back_gets_exactly_the_remaining_events(client: TestClient, db: Database) -> None:
    run_id = submitted(db).runs[0].id
    lease = claimed(db).lease
    begun(db, lease)
    recorded(db, lease, *(measured(step) for step in range(0, 50, 5)))
    finished(db, lease)
    everything = whole(client, run_id)
    assert [event.step for event in everything[:-1]] == list(range(0, 50, 5))
    assert [event.id for event in everything] == [*(f"1-{step}" for step in range(0, 50, 5)), "1-end"]
    for k, event in enumerate(everything[:-1]):
        assert whole(client, run_id, event.id) == everything[k + 1 :]


@pytest.mark.parametrize(
    "foreign",
    ["nonsense", "1", "-1-5", "99999999999-1", "1-1000000001", "1-5-end", "٣-٤", "1-5\n", "1-5*2", "1-5,1-5", "0*9999"],
)
def test_a_foreign_event_id_starts_from_the_beginning(foreign: str) -> None:
    assert read_position(foreign, 1) == [RunPosition()]


ENDED = RunPosition(2, MAX_STEPS, True)


@pytest.mark.parametrize(
    ("seen", "id"),
    [
        ([RunPosition(1, 0)], "1-0"),
        ([RunPosition(3, 120)], "3-120"),
        ([ENDED], "2-end"),
        ([ENDED, ENDED, RunPosition(1, 5), *[RunPosition()] * 997], "2-end*2,1-5,0*997"),
    ],
)
def test_an_event_id_says_what_the_client_has_seen(seen: list[RunPosition], id: str) -> None:
    assert write_position(seen) == id
    assert read_position(id, len(seen)) == seen


@pytest.mark.parametrize("id", ["999999999-1000000000", "0-9999999999", "1-1000000001", "7-0", "7-end"])
def test_an_event_id_beyond_all_measurements_does_no_harm(client: TestClient, db: Database, id: str) -> None:
    run_id = submitted(db).runs[0].id
    lease = claimed(db).lease
    recorded(db, lease, measured(5))
    finished(db, lease)
    assert whole(client, run_id, id)[-1].data["state"] == "succeeded"


def test_after_a_takeover_the_steps_that_were_measured_again_are_sent_again(url: str, db: Database) -> None:
    run_id = submitted(db).runs[0].id
    first = claimed(db).lease
    begun(db, first)
    recorded(db, first, *(measured(step, valid__loss=1.0) for step in (5, 10, 15, 20)))
    events = listen(url, run_id)
    assert next(events).data["state"] == "running"
    seen = [next(events) for _ in range(4)]
    with db.transaction() as session:
        lifecycle.release(session, first, "its worker stopped")
    second = claimed(db).lease
    begun(db, second, step=10, resumed_from=10)
    recorded(db, second, measured(15, valid__loss=2.0), measured(20, valid__loss=2.0), measured(25, valid__loss=2.0))
    finished(db, second)
    rest = list(events)
    assert [event.id for event in rest if event.kind == "measurement"] == ["2-15", "2-20", "2-25"]
    assert all(event.data["values"] == {"valid.loss": 2.0} for event in rest if event.kind == "measurement")
    assert rest[-1].id == "2-end"
    assert rest[-1].data["resumed_from_step"] == 10

    late = [event for event in listen(url, run_id, last_event_id=seen[-1].id) if event.kind == "measurement"]
    assert [event.id for event in late] == ["2-15", "2-20", "2-25"], "so it is for who comes back later"
    new = [event for event in listen(url, run_id) if event.kind == "measurement"]
    assert [(event.step, event.data["values"]["valid.loss"]) for event in new] == [
        (5, 1.0),
        (10, 1.0),
        (15, 2.0),
        (20, 2.0),
        (25, 2.0),
    ]


def test_more_rows_than_one_query_reads_are_all_sent(
    client: TestClient, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "MAX_ROWS", 7)
    run_id = submitted(db).runs[0].id
    lease = claimed(db).lease
    batch = [measured(step, valid__loss=1.0, valid__accuracy=0.5, train__loss=2.0) for step in range(1, 40)]
    recorded(db, lease, *batch)
    finished(db, lease)
    steps = [event for event in whole(client, run_id) if event.kind == "measurement"]
    assert [event.step for event in steps] == list(range(1, 40))
    assert all(len(event.data["values"]) == 3 for event in steps)


def test_a_silent_run_is_kept_alive_with_comments(
    settings: Settings, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stream, "PING_SECONDS", 0.3)
    run_id = submitted(db).runs[0].id
    with live_api(settings) as url, httpx.stream("GET", f"{url}/v1/runs/{run_id}/events", timeout=TIMEOUT) as answer:
        assert next(line for line in answer.iter_lines() if line.startswith(":")) == ": still here"


def test_several_clients_get_the_same_events(url: str, db: Database) -> None:
    run_id = submitted(db).runs[0].id
    lease = claimed(db).lease
    begun(db, lease)
    got: list[list[Event]] = []
    begun_listening = threading.Barrier(4)

    def watch() -> None:
        events = listen(url, run_id)
        first = next(events)
        begun_listening.wait(TIMEOUT)
        got.append([first, *events])

    threads = [threading.Thread(target=watch) for _ in range(3)]
    for thread in threads:
        thread.start()
    begun_listening.wait(TIMEOUT)
    for step in (5, 10, 15):
        recorded(db, lease, measured(step))
    finished(db, lease)
    for thread in threads:
        thread.join(TIMEOUT)
    assert len(got) == 3
    assert got[0] == got[1] == got[2]
    assert [event.kind for event in got[0]] == ["state", "measurement", "measurement", "measurement", "state"]


# -- after a retry ----------------------------------------------------------------------------------


def retried(db: Database, experiment_id: str) -> Lease:
    """Retry the experiment, and claim its next run."""
    with db.transaction() as session:
        lifecycle.retry(session, experiment_id)
    return claimed(db).lease


@pytest.mark.parametrize("by_header", [True, False], ids=["header", "parameter"])
def test_a_stream_that_had_ended_goes_on_after_a_retry(client: TestClient, db: Database, by_header: bool) -> None:
    experiment = submitted(db)
    run_id = experiment.runs[0].id
    lease = claimed(db).lease
    begun(db, lease)
    recorded(db, lease, measured(5), measured(10))
    failed(db, lease)
    end = whole(client, run_id)[-1]
    given: dict[str, Any] = (
        {"headers": {"Last-Event-ID": end.id}} if by_header else {"params": {"last_event_id": end.id}}
    )
    assert client.get(path_of(run_id), **given).status_code == 204
    again = retried(db, experiment.id)
    begun(db, again, step=5, resumed_from=5)
    recorded(db, again, measured(10), measured(15))
    finished(db, again)
    answer = client.get(path_of(run_id), **given)
    assert answer.status_code == 200
    rest = list(parsed(iter(answer.text.split("\n"))))
    assert [event.id for event in rest] == ["2-10", "2-15", "2-end"]
    assert rest[-1].data["state"] == "succeeded"


# -- all runs of an experiment ----------------------------------------------------------------------


def test_an_experiments_stream_tells_of_each_of_its_runs_and_ends_with_the_last(
    client: TestClient, db: Database
) -> None:
    submitted(db, seeds=[9])  # another experiment, whose events must not be sent
    finished(db, claimed(db).lease)
    experiment = submitted(db, seeds=[0, 1, 2])
    for steps in ((5, 10), (5,), ()):
        lease = claimed(db).lease
        begun(db, lease)
        recorded(db, lease, *map(measured, steps))
        finished(db, lease)
    events = whole(client, experiment.id)
    first, second, third = (run.id for run in experiment.runs)
    told = [(event.kind, event.data.get("run_id") or event.data["id"], event.id) for event in events]
    assert sorted(told) == sorted(
        [
            ("measurement", first, "1-5,0*2"),
            ("measurement", first, "1-10,0*2"),
            ("measurement", second, "1-10,1-5,0"),
            ("state", third, "1-10,1-5,1-end"),
            ("state", first, "1-end,1-5,1-end"),
            ("state", second, "1-end,1-end,1-end"),
        ]
    )
    for k, event in enumerate(events[:-1]):
        rest = whole(client, experiment.id, event.id)
        assert {(e.kind, e.data.get("run_id") or e.data["id"]) for e in rest} == {
            (e.kind, e.data.get("run_id") or e.data["id"]) for e in events[k + 1 :]
        }
    assert client.get(path_of(experiment.id), headers={"Last-Event-ID": events[-1].id}).status_code == 204


def test_an_experiments_stream_goes_on_with_the_runs_that_were_retried(client: TestClient, db: Database) -> None:
    experiment = submitted(db, seeds=[0, 1])
    finished(db, claimed(db).lease)
    failed(db, claimed(db).lease)
    end = whole(client, experiment.id)[-1]
    again = retried(db, experiment.id)
    recorded(db, again, measured(5))
    finished(db, again)
    rest = whole(client, experiment.id, end.id)
    assert [(event.kind, event.data.get("run_id") or event.data["id"]) for event in rest] == [
        ("measurement", experiment.runs[1].id),
        ("state", experiment.runs[1].id),
    ]
    assert rest[-1].id == "1-end,2-end"


def test_an_experiment_is_followed_live(url: str, db: Database) -> None:
    experiment = submitted(db, seeds=[0, 1])
    events = listen(url, experiment.id)
    assert [(next(events).data["id"]) for _ in range(2)] == [run.id for run in experiment.runs]
    leases = [claimed(db).lease for _ in range(2)]
    assert {next(events).data["state"] for _ in range(2)} == {"running"}
    recorded(db, leases[1], measured(5))
    event = next(events)
    assert (event.data["run_id"], event.id) == (experiment.runs[1].id, "0,1-5")
    for lease in leases:
        finished(db, lease)
    assert [event.data["state"] for event in events] == ["succeeded", "succeeded"]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_client_that_has_read_everything_stored_gets_the_later_events(client: TestClient, db: Database) -> None:
    experiment = submitted(db, seeds=(0, 1, 2))

    def position() -> str:
        with db.snapshot() as session:
            return stream.position_in_experiment(session, experiment.id)

    assert position() == "0*3"
    first = claimed(db).lease
    begun(db, first)
    recorded(db, first, measured(5), measured(10), saved=5)
    assert position() == "1-10,0*2"
    with db.snapshot() as session:
        assert stream.position_in_run(session, first.run_id) == "1-10"
    with db.transaction() as session:
        lifecycle.lose(session, first, "gone", max_attempts=3)
    read = position()
    assert read == "1-10,0*2", "what is measured again of the second attempt is still to come"
    again = claimed(db).lease
    assert again.run_id == first.run_id
    begun(db, again, 5, resumed_from=5)
    recorded(db, again, measured(10), measured(15))
    assert position() == "2-15,0*2"
    finished(db, again)
    assert position() == "2-end,0*2"
    for _ in range(2):
        lease = claimed(db).lease
        begun(db, lease)
        failed(db, lease)
    steps = [event.data for event in whole(client, experiment.id, read) if event.kind == "measurement"]
    assert [(data["run_id"], data["attempt"], data["step"]) for data in steps] == [
        (first.run_id, 2, 10),
        (first.run_id, 2, 15),
    ]
    with db.snapshot() as session:
        runs = Run.experiment_id == experiment.id
        assert stream.Stream.resume(session, runs, stream.position_in_experiment(session, experiment.id)).is_over(
            session
        )


@pytest.mark.parametrize("way", ["header", "cookie"])
@pytest.mark.parametrize("begins", [False, True], ids=["nothing happens", "events come"])
def test_the_stream_of_a_key_that_is_revoked_ends(
    settings: Settings, db: Database, monkeypatch: pytest.MonkeyPatch, way: str, begins: bool
) -> None:
    monkeypatch.setattr(permits, "CHECK_SECONDS", 0.5)
    with db.transaction() as session:
        row, key = keyring.create(session, "ada")
    run_id = submitted(db).runs[0].id
    lease = claimed(db).lease if begins else None
    headers = {"header": {"Authorization": f"Bearer {key}"}, "cookie": {"Cookie": f"{browser.COOKIE}={key}"}}[way]
    with (
        live_api(settings, require_keys=True) as url,
        httpx.stream("GET", url + path_of(run_id), headers=headers, timeout=TIMEOUT) as answer,
    ):
        assert answer.status_code == 200
        lines = answer.iter_lines()
        assert next(lines).startswith("event: ")
        with db.transaction() as session:
            keyring.revoke(session, row.id)
        if lease is None:
            began = time.monotonic()
            for _ in lines:  # comments come, as long as it goes on
                assert time.monotonic() - began < 10
            return
        stopped, step = threading.Event(), 0

        def measure() -> None:
            nonlocal step
            while not stopped.wait(0.05):
                step += 1
                recorded(db, lease, measured(step))

        measuring = threading.Thread(target=measure)
        measuring.start()
        try:
            began = time.monotonic()
            for _ in lines:
                assert time.monotonic() - began < TIMEOUT
        finally:
            stopped.set()
            measuring.join()
