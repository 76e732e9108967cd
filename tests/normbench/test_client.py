"""The service seen from a user's machine, over a real connection."""

import math
import re
import socket
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from normbench import (
    Client,
    Conflict,
    Invalid,
    Measured,
    Missing,
    NormbenchError,
    NotFound,
    StateChanged,
    StillRunning,
    Unauthorized,
    Unavailable,
    Unreachable,
)
from normcore.figures.figure import THEMES
from service.artifacts import Artifacts
from service.db import Database
from service.keys import keyring
from service.settings import Settings
from tests.normbench.script_server import AWAY, HANG_UP, Answer, scripted
from tests.servers import free_port
from tests.service.live import live_api
from tests.service.sample_runs import claimed, finished, measured, recorded, submitted, written


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """One database, since these tests are the same on every database."""
    return f"sqlite:///{tmp_path / 'normbench.db'}"


@pytest.fixture
def api(settings: Settings) -> Iterator[Client]:
    with live_api(settings) as url:
        yield Client(url)


def test_every_call_is_answered_with_plain_values(api: Client, db: Database) -> None:
    made = api.submit(written(seeds=[0, 1]), idempotency_key="k")
    assert api.submit(written(seeds=[0, 1]), idempotency_key="k")["id"] == made["id"]
    assert api.experiment(made["id"])["runs"] == made["runs"]
    run_id = made["runs"][0]["id"]
    assert api.run(run_id)["state"] == "queued"
    assert api.measurements(run_id) == {}
    recorded(db, claimed(db).lease, *(measured(step) for step in range(20)))
    curve = api.measurements(run_id, series=["valid.accuracy"], max_points=4)["valid.accuracy"]
    step, value, _ = curve["points"][-1]
    assert (curve["direction"], step, value) == ("maximize", 19, 0.19)
    assert api.cancel(made["id"])["runs"][1]["state"] == "cancelled"
    assert api.retry(made["id"])["runs"][1]["attempt"] == 2
    assert api.leaderboard("permuted_digits", profile="smoke")["entries"] == []
    assert api.leaderboards() == []
    assert api.report_card("layer_norm")["missing"]
    assert "digits" in [item["name"] for item in api.catalogue("datasets")]
    assert api.is_ready()


def test_a_dry_run_says_what_is_measured_already_and_stores_nothing(api: Client, db: Database) -> None:
    api.submit(written(seeds=[1]))
    finished(db, claimed(db).lease)
    plan = api.dry_run(written(seeds=[0, 1]))
    assert (plan["runs"], plan["measured_seeds"]) == (2, [1])
    assert len(list(api.experiments())) == 1


def test_the_list_of_experiments_asks_for_its_pages_one_by_one(api: Client) -> None:
    made = [api.submit(written(seeds=[seed], labels={"odd": str(seed % 2)}))["id"] for seed in range(5)]
    assert [e["id"] for e in api.experiments(page_size=2)] == made[::-1]
    assert [e["id"] for e in api.experiments(labels={"odd": "1"}, state="queued")] == [made[3], made[1]]
    listing = api.experiments(page_size=2)
    assert next(listing)["id"] == made[4]
    later = api.submit(written(seeds=[9]))["id"]
    assert later not in [e["id"] for e in listing], "the rest goes on where the page before ended"


def test_a_refusal_says_of_each_field_what_is_wrong(api: Client) -> None:
    with pytest.raises(Invalid) as refusal:
        api.submit({**written(seeds=[]), "training": {"optimizer": {"lr": "fast"}}})
    assert refusal.value.status == 422
    assert sorted(error["loc"] for error in refusal.value.errors) == [["seeds"], ["training", "optimizer", "lr"]]
    lines = str(refusal.value).splitlines()
    assert sorted(line.partition(":")[0] for line in lines) == ["seeds", "training.optimizer.lr"]


def test_each_refusal_has_its_type(api: Client) -> None:
    with pytest.raises(NotFound, match="no experiment 'exp_nope'") as refusal:
        api.experiment("exp_nope")
    assert (refusal.value.status, refusal.value.errors) == (404, [])
    api.submit(written(), idempotency_key="k")
    with pytest.raises(Conflict):
        api.submit(written("none"), idempotency_key="k")


def test_waiting_ends_with_the_experiment_or_with_the_time(api: Client, db: Database) -> None:
    made = api.submit(written())
    with pytest.raises(StillRunning, match="it goes on") as over:
        api.wait(made["id"], timeout=0)
    assert isinstance(over.value, TimeoutError)
    finished(db, claimed(db).lease)
    assert api.wait(made["id"])["state"] == "succeeded"


def test_waiting_for_a_service_that_never_answers_says_so_and_ends_in_time() -> None:
    begun = time.monotonic()
    with pytest.raises(Unreachable, match="no service answers"):
        Client(f"http://127.0.0.1:{free_port()}").wait("exp_1", timeout=0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(Unreachable):
        Client(f"http://127.0.0.1:{silent.getsockname()[1]}").wait("exp_1", timeout=0.2)
    with scripted(AWAY) as s, pytest.raises(Unavailable, match="the database does not answer"):
        Client(s.url).wait("exp_1", timeout=0.2)
    assert time.monotonic() - begun < 15, "a call alone has a patience of 30 s"


def test_waiting_says_that_a_run_was_running_before_the_service_went_away() -> None:
    with scripted(Answer({"state": "running"}), HANG_UP) as s:
        with pytest.raises(StillRunning, match=r"exp_1 has not ended after 0\.6 s \(running when last seen\)"):
            Client(s.url).wait("exp_1", timeout=0.6)
        assert len(s.requests) > 1


def test_a_run_is_watched_as_it_happens(api: Client, db: Database) -> None:
    made = api.submit(written())
    run_id, lease = made["runs"][0]["id"], claimed(db).lease
    recorded(db, lease, measured(10), measured(20))
    finished(db, lease)
    events = list(api.watch(run_id))
    steps = [event for event in events if isinstance(event, Measured)]
    assert [(event.run_id, event.step, event.values) for event in steps] == [
        (run_id, 10, {"valid.accuracy": 0.1}),
        (run_id, 20, {"valid.accuracy": 0.2}),
    ]
    assert isinstance(events[-1], StateChanged)
    assert events[-1].run["state"] == "succeeded"


def test_an_experiment_is_watched_through_all_its_runs(api: Client, db: Database) -> None:
    made = api.submit(written(seeds=[0, 1]))
    for step in (10, 20):
        lease = claimed(db).lease
        recorded(db, lease, measured(step))
        finished(db, lease)
    events = list(api.watch(made["id"]))
    steps = {event.run_id: event.step for event in events if isinstance(event, Measured)}
    assert steps == {made["runs"][0]["id"]: 10, made["runs"][1]["id"]: 20}
    ended = [
        event.run["id"] for event in events if isinstance(event, StateChanged) if event.run["state"] == "succeeded"
    ]
    assert sorted(ended) == [run["id"] for run in made["runs"]]


STREAM = "text/event-stream"


def told(id: str, step: int) -> bytes:
    return f'event: measurement\nid: {id}\ndata: {{"step": {step}, "seconds": 1.0, "values": {{}}}}\n\n'.encode()


BROKEN = Answer(b": ping\n\n" + told("1-10", 10) + b"event: meas", content_type=STREAM, breaks_off=True)
REST = (Answer(told("1-20", 20), content_type=STREAM), Answer({"state": "failed"}))


def test_a_stream_that_breaks_goes_on_after_the_last_event() -> None:
    with scripted(BROKEN, HANG_UP, AWAY, *REST) as s:
        assert [event.step for event in Client(s.url).watch("run_1") if isinstance(event, Measured)] == [10, 20]
    assert [request.headers.get("Last-Event-ID") for request in s.requests[:4]] == [None, "1-10", "1-10", "1-10"]


def test_an_outage_counts_from_its_beginning_however_long_nothing_had_happened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("normbench.waiting.OUTAGE_SECONDS", 0.5)
    steps = []
    with scripted(BROKEN, HANG_UP, BROKEN, HANG_UP, *REST) as s:
        for event in Client(s.url).watch("run_1"):
            assert isinstance(event, Measured)
            steps.append(event.step)
            time.sleep(0.6)
    assert steps == [10, 10, 20]
    with scripted(BROKEN, HANG_UP) as s, pytest.raises(Unreachable):
        list(Client(s.url, patience=0).watch("run_1"))
    there = Answer({"id": "exp_1", "state": "queued"})
    with scripted(HANG_UP, there, HANG_UP, there) as s:
        looks = Client(s.url, patience=0).looks(["exp_1"])
        seen = []
        for _ in range(4):
            seen.append(type(next(looks)))
            time.sleep(0.6)
    assert seen == [Unreachable, list, Unreachable, list]


def test_files_of_a_run_are_listed_and_saved_whole(api: Client, settings: Settings, tmp_path: Path) -> None:
    run_id = api.submit(written())["runs"][0]["id"]
    content = bytes(range(256)) * 20_000
    with scripted(Answer(content, breaks_off=True), HANG_UP, Answer(content)) as s:
        saved = Client(s.url).download(run_id, "model.pt", tmp_path)
    assert saved == tmp_path / "model.pt"
    assert saved.read_bytes() == content
    assert len(s.requests) == 3
    with scripted(Answer(content, breaks_off=True)) as s, pytest.raises(Unreachable):
        Client(s.url, patience=0).download(run_id, "other.pt", tmp_path / "other.pt")
    assert list(tmp_path.glob("*other*")) == [], "no half a file, under whatever name"
    assert api.artifacts(run_id) == []
    with pytest.raises(NotFound):
        api.download(run_id, "model.pt", tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()


# -- trouble on the way ----------------------------------------------------------------------------


@pytest.mark.parametrize("is_there", [False, True])
def test_a_file_of_the_folder_of_figures_is_saved_into_such_a_folder(
    api: Client, db: Database, settings: Settings, tmp_path: Path, is_there: bool
) -> None:
    run_id = submitted(db).runs[0].id
    Artifacts(settings.artifacts_url).write(run_id, 1, "figures/matrix.json", b'{"data": []}')
    finished(db, claimed(db).lease)
    [listed] = api.artifacts(run_id)
    folder = tmp_path / "here"
    folder.mkdir()
    if is_there:
        (folder / "figures").mkdir()
    saved = api.download(run_id, listed["name"], folder)
    assert saved == folder / "figures" / "matrix.json"
    assert saved.read_bytes() == b'{"data": []}'
    assert api.download(run_id, listed["name"], folder / "mine.json").read_bytes() == b'{"data": []}'
    assert api.artifact_text(run_id, listed["name"]) == '{"data": []}'


@pytest.mark.parametrize("name", ["figures/", "figures/../x", "figures//x", "other/x", "figures/a/b"])
def test_a_file_name_with_any_other_folder_is_refused_and_nothing_is_sent(name: str, tmp_path: Path) -> None:
    with scripted(AWAY) as s, Client(s.url, patience=0) as client, pytest.raises(Invalid, match="file's name"):
        client.download("run_1", name, tmp_path)
    assert s.requests == []
    assert list(tmp_path.iterdir()) == []


def test_a_figure_is_what_the_service_draws(api: Client, db: Database, settings: Settings) -> None:
    run_id = submitted(db).runs[0].id
    Artifacts(settings.artifacts_url).write(run_id, 1, "figures/matrix.json", b'{"data": [{"z": 1}], "layout": {}}')
    lease = claimed(db).lease
    recorded(db, lease, measured(5), measured(10))
    finished(db, lease)
    [line] = api.figure(run_id)["data"]
    assert (line["name"], line["x"], line["y"]) == ("valid.accuracy", [5, 10], [0.05, 0.1])
    assert api.figure(run_id, "matrix")["data"] == [{"z": 1}]
    light, dark = (api.figure(run_id, "curves", theme=theme)["layout"]["paper_bgcolor"] for theme in THEMES)
    assert light == api.figure(run_id)["layout"]["paper_bgcolor"]
    assert light != dark
    with pytest.raises(NotFound, match="it has curves, matrix"):
        api.figure(run_id, "matrices")


def test_a_safe_request_is_repeated_until_the_service_is_back() -> None:
    with scripted(AWAY, HANG_UP, Answer({"detail": "no gateway"}, 502), Answer({"items": [{"name": "char_lm"}]})) as s:
        assert Client(s.url).catalogue("tasks") == [{"name": "char_lm"}]
    assert [(request.method, request.path) for request in s.requests] == [("GET", "/v1/tasks")] * 4


def test_a_submission_that_got_no_answer_is_repeated_under_its_own_key() -> None:
    with scripted(HANG_UP, AWAY, Answer({"id": "exp_1"}, 201)) as s:
        client = Client(s.url)
        client.submit(written())
        client.submit(written())
    keys = [request.headers["Idempotency-Key"] for request in s.requests]
    assert keys[0] == keys[1] == keys[2] != keys[3]


@pytest.mark.parametrize("status", [400, 401, 404, 409, 413, 422, 429, 500])
def test_a_refused_request_is_not_repeated(status: int) -> None:
    with scripted(Answer({"detail": "no"}, status)) as s, pytest.raises(NormbenchError, match="no") as refusal:
        Client(s.url).catalogue("tasks")
    assert refusal.value.status == status
    assert len(s.requests) == 1


def test_a_retry_of_runs_is_asked_once() -> None:
    with scripted(AWAY) as s, pytest.raises(Unavailable):
        Client(s.url).retry("exp_1")
    assert len(s.requests) == 1


def test_the_client_gives_up_after_its_patience() -> None:
    with scripted(AWAY) as s, pytest.raises(Unavailable, match="the database does not answer"):
        Client(s.url, patience=0.5).catalogue("tasks")
    assert len(s.requests) > 2


# -- requests never sent ----------------------------------------------------------------------------


@pytest.mark.parametrize("key", ["", "é", "a\nb", " a", "a ", "k" * 256])
def test_an_idempotency_key_that_no_header_can_carry_is_refused_and_nothing_is_sent(key: str) -> None:
    with scripted(Answer({"id": "exp_1"}, 201)) as s, pytest.raises(Invalid, match="idempotency key") as refusal:
        Client(s.url).submit(written(), idempotency_key=key)
    assert refusal.value.status is None
    assert s.requests == []


def test_a_key_of_the_greatest_length_is_sent_unchanged() -> None:
    key = "my key" + "~" * 249
    with scripted(Answer({"id": "exp_1"}, 201)) as s:
        Client(s.url).submit(written(), idempotency_key=key)
    assert s.requests[0].headers["Idempotency-Key"] == key


@pytest.mark.parametrize("key", ["é", "nb_secret\n", "nb_secret nb_other"])
def test_an_invalid_api_key_is_refused_without_showing_it(key: str) -> None:
    with pytest.raises(Unauthorized, match="NORMBENCH_API_KEY") as refusal:
        Client(key=key)
    assert key.strip() not in str(refusal.value)


@pytest.mark.parametrize("id", ["", "../tasks", "exp_1/cancel", ".", "..", "exp_\0", "exp_1\n", "\ud800"])
def test_an_invalid_id_is_refused_and_nothing_is_sent(id: str, tmp_path: Path) -> None:
    with scripted(Answer({"id": "exp_1"})) as s:
        client = Client(s.url)
        calls: list[tuple[str, Callable[[], object]]] = [
            *(("experiment's id", lambda f=f: f(id)) for f in (client.experiment, client.cancel, client.retry)),
            ("experiment's id", lambda: client.wait(id, timeout=0)),
            *(("run's id", lambda f=f: f(id)) for f in (client.run, client.measurements, client.artifacts)),
            ("'s id", lambda: list(client.watch(id))),
            ("run's id", lambda: client.download(id, "log.txt", tmp_path)),
            ("file's name", lambda: client.download("run_1", id, tmp_path)),
            ("file's name", lambda: client.artifact_text("run_1", id)),
            ("figure's name", lambda: client.figure("run_1", id)),
            ("task's name", lambda: client.leaderboard(id)),
            ("method's name", lambda: client.report_card(id)),
        ]
        for name, call in calls:
            with pytest.raises(Invalid, match=name):
                call()
    assert s.requests == []


@pytest.mark.parametrize(("id", "path"), [("a#b", "a%23b"), ("a?b", "a%3Fb"), ("a%2e", "a%252e"), ("é", "%C3%A9")])
def test_an_id_with_special_characters_is_quoted_in_the_address(id: str, path: str) -> None:
    with scripted(Answer({"id": id, "state": "failed"})) as s:
        Client(s.url).experiment(id)
        Client(s.url).artifact_text(id, id)
    assert [request.path for request in s.requests] == [
        f"/v1/experiments/{path}",
        f"/v1/runs/{path}/artifacts/{path}",
    ]


# -- data frames -----------------------------------------------------------------------------------


def test_curves_become_a_data_frame(api: Client, db: Database) -> None:
    made = api.submit(written("layer_norm", seeds=[3, 4], training={"batch_size": 7}))
    for _ in range(2):
        recorded(db, claimed(db).lease, measured(10), measured(20))
    frame = api.measurements_frame(made["id"])
    about = ["experiment_id", "run_id", "method", "name", "seed"]
    assert list(frame.columns) == [*about, "series", "step", "value", "seconds"]
    assert frame.groupby("seed")["value"].max().to_dict() == {3: 0.2, 4: 0.2}
    assert set(frame["method"]) == {"layer_norm"}
    assert set(frame["name"]) == {"layer_norm (batch_size 7)"}
    one = api.measurements_frame(made["runs"][1]["id"], series=["valid.accuracy"])
    assert set(one["seed"]) == {4}
    assert api.measurements_frame(made["id"], series=["nothing"]).empty


def test_a_leaderboard_becomes_a_data_frame() -> None:
    entries = [{"rank": 1, "method": "none", "value": {"mean": 0.5, "ci95": None}}, {"rank": 2, "value": None}]
    with scripted(Answer({"entries": entries})) as s:
        frame = Client(s.url).leaderboard_frame("char_lm", profile="small", published=True)
    assert list(frame["rank"]) == [1, 2]
    assert frame["value.mean"][0] == 0.5
    assert s.requests[0].path == "/v1/leaderboards/char_lm?profile=small&published=true"


def test_a_papers_model_that_no_method_describes_has_its_row_in_the_data_frame(api: Client) -> None:
    frame = api.leaderboard_frame("char_lm", profile="paper", published=True)
    best = frame.iloc[0]
    assert (best["model"], best["method"], best["origin"]) == ("HyperNetworks", None, "Ha et al. 2016")
    assert best["value.mean"] == 1.22
    assert frame.groupby("method", dropna=False).size().sum() == len(frame) == 8


def test_a_data_frame_without_pandas_says_how_to_install_pandas(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with scripted(Answer({"entries": []})) as s, pytest.raises(Missing, match="pip install pandas"):
        Client(s.url).leaderboard_frame("char_lm")


# -- answers of no service --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "holds"),
    [
        (float("nan"), "NaN, which JSON cannot; give a finite number"),
        (float("-inf"), "-Infinity, which JSON cannot; give a finite number"),
        ({1, 2}, "a value of type set, which JSON cannot; give text, numbers, lists or mappings"),
        (object(), "a value of type object, which"),
        (b"x", "a value of type bytes, which"),
    ],
)
def test_a_value_that_json_cannot_hold_is_refused_before_it_is_sent(api: Client, value: Any, holds: str) -> None:
    with pytest.raises(Invalid, match=re.escape(f"labels.a: the spec holds {holds}")) as refusal:
        api.submit({**written(), "labels": {"a": value}})
    assert [error["loc"] for error in refusal.value.errors] == [["labels", "a"]]
    assert refusal.value.status is None
    assert list(api.experiments()) == []


def test_a_value_that_json_cannot_hold_is_named_with_its_document() -> None:
    nobody, values = Client("http://127.0.0.1:9"), [{"seed": 0, "value": 0.5}, {"seed": 1, "value": math.nan}]
    with pytest.raises(Invalid, match=r"^values\.1\.value: the result holds NaN, which JSON cannot") as refusal:
        nobody.claim({**written(), "values": values})
    assert [error["loc"] for error in refusal.value.errors] == [["values", 1, "value"]]
    for submit in (nobody.submit_sweep, nobody.dry_run_sweep):
        with pytest.raises(Invalid, match=r"^grid\.norm\.eps\.0: the sweep holds Infinity"):
            submit({"spec": written(), "grid": {"norm.eps": (math.inf, 0.1)}})


def test_half_a_character_is_sent_and_refused_by_the_service(api: Client) -> None:
    with pytest.raises(NormbenchError, match=r"labels\.a: "):
        api.submit({**written(), "labels": {"a": "\ud800"}})


def test_a_spec_that_holds_itself_is_refused(api: Client) -> None:
    spec: dict[str, Any] = written()
    spec["labels"] = spec
    with pytest.raises(NormbenchError, match="JSON"):
        api.submit(spec)


def test_an_unreachable_service_is_reported_with_how_to_start_it() -> None:
    client = Client(f"http://127.0.0.1:{free_port()}", patience=0)
    assert not client.is_ready()
    with pytest.raises(Unreachable, match=r"normbench up.*NORMBENCH_URL"):
        client.catalogue("tasks")


@pytest.mark.parametrize("url", ["nonsense", "http://[", "http://a b", "ftp://127.0.0.1", "http://127.0.0.1:port"])
def test_an_invalid_address_is_refused_at_once(url: str) -> None:
    with pytest.raises(Unreachable, match="set NORMBENCH_URL"):
        Client(url)


def test_an_address_of_ip_version_6_is_accepted() -> None:
    assert Client("http://[fe80::1%25eth0]:8000").url


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (b"<html>hello</html>", 200),
        (b"[]", 200),
        (b"", 200),
        (b"<html>away</html>", 502),
        (b"[1]", 500),
        (b"\xff", 404),
    ],
)
def test_an_answer_that_is_not_normbenchs_raises_a_normbench_error(content: bytes, status: int) -> None:
    with scripted(Answer(content, status)) as s, pytest.raises(NormbenchError):
        Client(s.url, patience=0).experiment("exp_1")


def test_address_and_key_come_from_the_environment(
    settings: Settings, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with db.transaction() as session:
        _, secret = keyring.create(session, "ada")
    with live_api(settings, require_keys=True) as url:
        monkeypatch.setenv("NORMBENCH_URL", url)
        monkeypatch.delenv("NORMBENCH_API_KEY", raising=False)
        with pytest.raises(Unauthorized, match="normbench keys create"):
            Client().catalogue("tasks")
        monkeypatch.setenv("NORMBENCH_API_KEY", secret)
        assert Client().catalogue("tasks")
        with pytest.raises(Unauthorized, match="unknown or revoked"):
            Client(key="nb_other").catalogue("tasks")


def test_a_password_in_the_address_is_not_shown() -> None:
    for url in (f"http://ada:lovelace@127.0.0.1:{free_port()}", "ftp://ada:lovelace@example.org"):
        with pytest.raises(Unreachable) as refusal:
            Client(url, patience=0).leaderboards()
        assert "lovelace" not in str(refusal.value)
