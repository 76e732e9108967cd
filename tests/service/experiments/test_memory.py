"""A spec that fits into no worker's memory is refused before it is stored, at the size that matters most."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from normcore.footprint import footprint
from normcore.spec import resolve
from service.db import Database
from service.experiments.memory import NO_MACHINE_HAS, in_words
from service.fleet import registration
from service.fleet.registration import WorkerIdentity
from tests.service.given import written

GB = 10**9
LARGE: dict[str, Any] = {"model": {"hidden_size": 4096}}


def join(db: Database, id: str, memory: int | None, device: str = "cpu") -> None:
    identity = WorkerIdentity(id, "host", 1, device, ("auto", device), memory=memory)
    with db.transaction() as session:
        registration.heartbeat(session, identity)


def needs(**parts: Any) -> int:
    found = footprint(resolve(written(**parts)))
    assert found is not None
    return found.total


def refusals(client: TestClient, *, dry_run: bool = True, **parts: Any) -> Any:
    answer = client.post("/v1/experiments", params={"dry_run": dry_run}, json=written(**parts))
    return answer.json()["errors"] if answer.status_code == 422 else []


@pytest.mark.parametrize("dry_run", [True, False])
def test_the_size_is_named_with_what_it_needs_what_there_is_and_what_fits(
    client: TestClient, db: Database, dry_run: bool
) -> None:
    join(db, "wrk_1", 1 * GB)
    join(db, "wrk_2", 2 * GB)
    needed, too_much = needs(**LARGE), needs(model={"hidden_size": 5000})
    assert needed < 2 * GB < too_much
    most = next(size for size in range(5000, 0, -1) if needs(model={"hidden_size": size}) <= 2 * GB)
    assert refusals(client, dry_run=dry_run, **LARGE) == []
    assert refusals(client, dry_run=dry_run, model={"hidden_size": 5000}) == [
        {
            "loc": ["model", "hidden_size"],
            "msg": f"a run needs at least {in_words(too_much)} of memory, and the largest live worker gives it 2.0 GB;"
            f" use {most:,} or less",
            "type": "memory",
        }
    ]


@pytest.mark.parametrize(
    ("workers", "device", "is_refused"),
    [
        ([], "auto", False),
        ([("cpu", 1 * GB)], "auto", True),
        ([("cpu", 1 * GB)], "cuda", False),
        ([("cpu", 1 * GB), ("cuda", 80 * GB)], "auto", False),
        ([("cpu", 1 * GB), ("cuda", 80 * GB)], "cpu", True),
        ([("cpu", 1 * GB), ("cpu", None)], "cpu", False),
    ],
    ids=[
        "nobody lives",
        "too small",
        "of another device",
        "one is large",
        "the large one takes others",
        "one is silent",
    ],
)
def test_workers_that_take_the_run_decide(
    client: TestClient, db: Database, workers: list[tuple[str, int | None]], device: str, is_refused: bool
) -> None:
    for number, (kind, memory) in enumerate(workers):
        join(db, f"wrk_{number}", memory, kind)
    assert bool(refusals(client, device=device, **LARGE)) is is_refused


def test_while_nobody_says_what_there_is_the_impossible_is_refused(client: TestClient) -> None:
    impossible = {"hidden_size": 65536, "num_layers": 64}
    assert needs(model=impossible) > NO_MACHINE_HAS
    (refused,) = refusals(client, model=impossible)
    assert refused["loc"] == ["model", "hidden_size"]
    assert "no worker is alive to say what it has, and the bound is 17,592 GB" in refused["msg"]


def test_a_worker_that_gives_more_or_less_from_now_on_says_so(client: TestClient, db: Database) -> None:
    join(db, "wrk_1", 1 * GB)
    assert refusals(client, **LARGE)
    join(db, "wrk_1", 2 * GB)
    assert not refusals(client, **LARGE)
    answer = client.post("/v1/experiments", params={"dry_run": True}, json=written(**LARGE)).json()
    assert (answer["memory_bytes"], answer["worker_memory_bytes"]) == (needs(**LARGE), 2 * GB)


def test_cells_of_a_sweep_that_fit_nowhere_are_named(client: TestClient, db: Database) -> None:
    join(db, "wrk_1", 1 * GB)
    sweep = {"spec": written(), "grid": {"model.hidden_size": [16, 4096]}}
    answer = client.post("/v1/sweeps", params={"dry_run": True}, json=sweep)
    assert answer.status_code == 422
    (refused,) = answer.json()["errors"]
    assert "4096" in refused["msg"]
    assert "of memory, and the largest live worker gives it 1.0 GB" in refused["msg"]


@pytest.mark.parametrize(
    ("size", "words"), [(209_715_200, "209.7 MB"), (15_800_000_000, "15.8 GB"), (1_884_776_000_000, "1,885 GB")]
)
def test_sizes_in_words(size: int, words: str) -> None:
    assert in_words(size) == words
