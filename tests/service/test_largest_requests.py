"""The largest requests of each kind are answered soon and in few words, and nobody waits for that."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from benchmarks.largest import LARGEST
from benchmarks.waiting import ask_beside
from tests.processes import service

WAIT = 1.0  # seconds; on a quiet machine 0.25, which ``benchmarks`` measures
SECONDS = 20.0  # for three answers, on a busy machine
BYTES = 250_000  # of an answer
LINES = 50  # of the API's log, about all of them


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[int, Path]]:
    """The port of an API in a process of its own, and its log."""
    with service(tmp_path_factory.mktemp("api")) as running:
        running.start("api", "--port", str(running.port))
        running.wait_ready()
        yield running.port, running.folder / "api.log"


@pytest.mark.parametrize("kind", LARGEST)
def test_nobody_waits_long_while_it_is_answered(api: tuple[int, Path], kind: str) -> None:
    port, log = api
    answered = ask_beside(port, LARGEST[kind])
    assert all(200 <= status < 500 for status in answered.statuses), answered.statuses
    assert max(answered.waits) <= WAIT, f"/healthz waited {max(answered.waits):.1f} s"
    assert answered.seconds <= SECONDS
    assert answered.size <= BYTES, "the answer repeats what was sent"
    assert len(log.read_text().splitlines()) < LINES, log.read_text()[-2000:]


@pytest.mark.parametrize("path", ["/v1/experiments", "/experiments", "/v1/runs/run_0/measurements"])
def test_a_parameter_that_is_given_too_often_is_named(api: tuple[int, Path], path: str) -> None:
    name = "series" if "measurements" in path else "label"
    answer = httpx.get(f"http://127.0.0.1:{api[0]}{path}", params=[(name, f"k{k}:v") for k in range(2000)])
    assert answer.status_code == 422
    [error] = answer.json()["errors"]
    assert error["loc"] == [name]
    assert error["msg"] == "an address may have 100 parameters, and this has 2,000; give fewer"
