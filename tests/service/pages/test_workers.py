"""The page of the workers."""

from collections.abc import Sequence

import pytest
from playwright.sync_api import expect
from starlette.testclient import TestClient

from service.db import Database
from service.experiments import examples
from service.fleet.registration import WorkerIdentity, register
from service.pages.workers import WorkerRow, answer
from service.workload.examples import QUEUE, WORKER
from service.workload.schemas import QueueOut
from tests.service.pages.conftest import NewPage, Site, check_looks
from tests.service.sample_runs import begun, claimed, submitted

IDLE = WorkerRow(WORKER, None, None, None, 10.0, 1.0)
BUSY = WorkerRow(WORKER, examples.RUN, "permuted_digits", "none", 10.0, 1.0)


def waiting(device: str, queued: int, workers: int) -> QueueOut:
    return QUEUE.model_copy(update={"device": device, "queued": queued, "workers": workers})


@pytest.mark.parametrize(
    ("rows", "queue", "text", "tone", "facts"),
    [
        ([], [], "No worker is alive; nothing waits.", "", []),
        ([], [waiting("auto", 1, 0)], "No worker is alive; 1 run waits.", "warn", []),
        (
            [IDLE, BUSY],
            [waiting("cpu", 2, 2)],
            "2 workers alive, 1 of them training; 2 runs wait.",
            "",
            [],
        ),
        (
            [IDLE],
            [waiting("cuda", 2, 0)],
            "1 worker alive, 0 of them training; 2 runs wait.",
            "warn",
            ["no worker takes runs for cuda"],
        ),
    ],
)
def test_the_answer_counts_live_workers_and_waiting_runs(
    rows: Sequence[WorkerRow], queue: Sequence[QueueOut], text: str, tone: str, facts: list[str]
) -> None:
    found = answer(rows, queue)
    assert (found.text, found.tone, list(found.facts)) == (text, tone, facts)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_each_worker_is_shown_with_the_run_that_it_trains(client: TestClient, db: Database) -> None:
    run_id = submitted(db).runs[0].id
    with db.transaction() as session:
        register(session, WorkerIdentity("wrk_1", "node-<b>", 4711, "cpu", ("auto", "cpu"), None))
        register(session, WorkerIdentity("wrk_2", "node-2", 4712, "cuda:0", ("auto", "cuda"), True))
    begun(db, claimed(db, worker_id="wrk_1").lease)
    shown = client.get("/workers").text
    assert "2 workers alive, 1 of them training; nothing waits." in shown
    assert "node-&lt;b&gt;" in shown
    assert "being compiled" in shown
    assert f'href="/runs/{run_id}"' in shown
    assert "not at all" in shown
    assert "Start a worker" not in shown


def test_the_page_of_workers_is_accessible(fresh_site: Site, new_page: NewPage) -> None:
    page = new_page(fresh_site)
    page.goto("/workers")
    expect(page.get_by_text("normbench worker", exact=True)).to_be_visible()
    check_looks(page)
    db = Database(fresh_site.settings.database_url)
    submitted(db)
    with db.transaction() as session:
        register(session, WorkerIdentity("wrk_1", "node-1", 4711, "cpu", ("auto", "cpu"), True))
    begun(db, claimed(db, worker_id="wrk_1").lease)
    db.close()
    page.get_by_role("link", name="Reload").click()
    expect(page.get_by_role("link", name="permuted_digits, seed 0")).to_be_visible()
    check_looks(page)
