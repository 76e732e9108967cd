"""The largest requests of each kind are answered soon and in few words, and do not delay other requests."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest

from benchmarks.largest import LARGEST, Large
from benchmarks.waiting import LargeRequest, ask_beside, fill_curves
from service.processes.startup import prepare
from service.settings import Settings
from tests.processes import service

WAIT = 1.0  # seconds; on a quiet machine 0.25, which ``benchmarks`` measures
TRIES = 2  # a busy machine can only add to a wait, so the first try without a long wait counts
SECONDS = 20.0  # for three answers, on a busy machine
BYTES = 250_000  # of an answer
LINES = 50  # of the API's log, about all these requests


class Api(NamedTuple):
    """An API in a process of its own.

    Attributes:
        curves: calls for the longest curves, by kind.
    """

    port: int
    log: Path
    curves: Mapping[str, Large]


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with service(tmp_path_factory.mktemp("api")) as running:
        settings = Settings(
            data_dir=running.folder / "data", database_url=f"sqlite:///{running.folder}/data/normbench.db"
        )
        db = prepare(settings)
        curves = fill_curves(db)
        db.close()
        running.start("api", "--port", str(running.port))
        running.wait_ready()
        yield Api(running.port, running.folder / "api.log", curves)


@pytest.mark.parametrize("kind", LARGEST)
def test_other_requests_do_not_wait_long_for_a_large_request(api: Api, kind: str) -> None:
    answered = ask_patiently(api.port, LARGEST[kind])
    assert all(200 <= status < 500 for status in answered.statuses), answered.statuses
    assert max(answered.waits) <= WAIT, f"/healthz waited {max(answered.waits):.1f} s"
    assert answered.seconds <= SECONDS
    assert answered.size <= BYTES, "the answer repeats what was sent"
    assert len(api.log.read_text().splitlines()) < LINES, api.log.read_text()[-2000:]


@pytest.mark.parametrize(
    "kind", ["curves", "curves, compressed", "curves in CSV", "curves in Parquet", "page of the curves"]
)
def test_other_requests_do_not_wait_long_for_the_longest_curves(api: Api, kind: str) -> None:
    answered = ask_patiently(api.port, api.curves[kind], at_once=1)
    assert answered.statuses == [200]
    assert max(answered.waits) <= WAIT, f"/healthz waited {max(answered.waits):.1f} s"


def ask_patiently(port: int, large: Large, **times: int) -> LargeRequest:
    """Send a large request, and once more if another request waited long."""
    for _ in range(TRIES):
        answered = ask_beside(port, large, **times)
        if max(answered.waits) <= WAIT:
            break
    return answered


@pytest.mark.parametrize("path", ["/v1/experiments", "/experiments", "/v1/runs/run_0/measurements"])
def test_a_parameter_that_is_given_too_often_is_named(api: Api, path: str) -> None:
    name = "series" if "measurements" in path else "label"
    answer = httpx.get(f"http://127.0.0.1:{api.port}{path}", params=[(name, f"k{k}:v") for k in range(2000)])
    assert answer.status_code == 422
    [error] = answer.json()["errors"]
    assert error["loc"] == [name]
    assert error["msg"] == "an address may have 100 parameters, and this has 2,000; give fewer"
