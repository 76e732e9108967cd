"""The service seen from a user's machine, over a real connection."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from service.client import Client, ClientError
from service.db import Database
from service.keys import keyring
from service.settings import Settings
from tests.servers import free_port
from tests.service.given import claimed, measured, recorded, written
from tests.service.live import live_api


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """What is tested here is the same on every database."""
    return f"sqlite:///{tmp_path / 'normbench.db'}"


@pytest.fixture
def api(settings: Settings) -> Iterator[Client]:
    with live_api(settings) as url:
        yield Client(url)


def test_every_call_is_answered_with_plain_values(api: Client, db: Database) -> None:
    made = api.submit(written(seeds=[0, 1]), idempotency_key="k")
    assert api.submit(written(seeds=[0, 1]), idempotency_key="k")["id"] == made["id"]
    assert api.experiment(made["id"])["runs"] == made["runs"]
    assert [e["id"] for e in api.experiments(limit=5, task=None)] == [made["id"]]
    run_id = made["runs"][0]["id"]
    assert api.run(run_id)["state"] == "queued"
    assert api.latest(run_id, "valid.accuracy") is None
    recorded(db, claimed(db).lease, *(measured(step) for step in range(20)))
    assert api.latest(run_id, "valid.accuracy") == 0.19
    assert api.cancel(made["id"])["runs"][1]["state"] == "cancelled"
    assert api.retry(made["id"])["runs"][1]["attempt"] == 2
    assert api.leaderboard("permuted_digits", profile="smoke", rank_by=None)["entries"] == []
    assert "digits" in [item["name"] for item in api.catalogue("datasets")]
    assert api.is_ready()


def test_a_refusal_becomes_one_line_for_each_field(api: Client) -> None:
    with pytest.raises(ClientError) as refusal:
        api.submit({**written(seeds=[]), "training": {"optimizer": {"lr": "fast"}}})
    lines = str(refusal.value).splitlines()
    assert sorted(line.partition(":")[0] for line in lines) == ["seeds", "training.optimizer.lr"]


def test_a_refusal_without_fields_is_told_in_its_own_words(api: Client) -> None:
    with pytest.raises(ClientError, match="no experiment 'exp_nope'"):
        api.experiment("exp_nope")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, object(), b"x"])
def test_what_json_cannot_hold_is_refused_before_it_is_sent(api: Client, value: Any) -> None:
    with pytest.raises(ClientError, match="JSON"):
        api.submit({**written(), "labels": {"a": value}})
    assert api.experiments() == []


def test_half_a_character_is_sent_and_refused_by_the_service(api: Client) -> None:
    with pytest.raises(ClientError, match=r"labels\.a: "):
        api.submit({**written(), "labels": {"a": "\ud800"}})


def test_a_spec_that_holds_itself_is_refused_too(api: Client) -> None:
    spec: dict[str, Any] = written()
    spec["labels"] = spec
    with pytest.raises(ClientError, match="JSON"):
        api.submit(spec)


def test_where_nobody_listens_it_says_how_to_start_a_service() -> None:
    client = Client(f"http://127.0.0.1:{free_port()}")
    assert not client.is_ready()
    with pytest.raises(ClientError, match=r"normbench up.*NORMBENCH_URL"):
        client.catalogue("tasks")


@pytest.mark.parametrize("url", ["nonsense", "http://[", "ftp://127.0.0.1", "http://127.0.0.1:port"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ClientError):
        Client(url).catalogue("tasks")


@contextmanager
def another_service(content: bytes, status: int = 200) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *args: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


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
def test_an_answer_that_is_not_normbenchs_is_an_error_for_people(content: bytes, status: int) -> None:
    with another_service(content, status) as url, pytest.raises(ClientError):
        Client(url).experiment("exp_1")


def test_a_connection_that_breaks_is_an_error_for_people() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def hang_up() -> None:
            connection, _ = listening.accept()
            connection.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        with pytest.raises(ClientError, match="no service answers"):
            Client(f"http://127.0.0.1:{listening.getsockname()[1]}").catalogue("tasks")
        thread.join()


def test_address_and_key_come_from_the_environment(
    settings: Settings, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with db.transaction() as session:
        _, secret = keyring.create(session, "ada")
    with live_api(settings, require_keys=True) as url:
        monkeypatch.setenv("NORMBENCH_URL", url)
        monkeypatch.delenv("NORMBENCH_API_KEY", raising=False)
        with pytest.raises(ClientError, match="normbench keys create"):
            Client().catalogue("tasks")
        monkeypatch.setenv("NORMBENCH_API_KEY", secret)
        assert Client().catalogue("tasks")
        with pytest.raises(ClientError, match="unknown or revoked"):
            Client(key="nb_other").catalogue("tasks")
