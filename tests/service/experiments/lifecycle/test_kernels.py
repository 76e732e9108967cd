"""A run that resumes on another worker names all kernels that it had."""

from dataclasses import replace
from typing import Any

import pytest
from starlette.testclient import TestClient

from service.db import Database
from service.experiments import lifecycle
from service.experiments.lifecycle import Lease
from service.experiments.tables import Run
from tests.service.experiments.lifecycle.verbs import released
from tests.service.leaderboards.boards import board
from tests.service.sample_runs import claimed, finished, run_of, started, submitted

AVX512, AVX2, TRITON = "x86-64-v4, g++ 12.2.0", "x86-64-v3, g++ 12.2.0", "triton 3.5.0"
REFERENCE = ("reference", None)


def begun(db: Database, lease: Lease, kernel: str, compiled: str | None, resumed_from: int | None) -> None:
    environment: dict[str, Any] = {"torch": "2.9", "kernels": compiled}
    now = replace(started(resumed_from or 0), kernel=kernel, environment=environment)
    with db.transaction() as session:
        lifecycle.start(session, lease, now, device="cpu", resumed_from=resumed_from)


def trained(db: Database, *attempts: tuple[tuple[str, str | None], int | None]) -> tuple[Run, Lease]:
    """A run that had these attempts, each with its kernel and the step that it resumed from; the last still trains."""
    submitted(db)
    lease = claimed(db).lease
    for number, ((kernel, compiled), resumed_from) in enumerate(attempts):
        if number:
            released(db, lease)
            lease = claimed(db).lease
        begun(db, lease, kernel, compiled, resumed_from)
    return run_of(db, lease.run_id), lease


def kernels_of(run: Run) -> tuple[str | None, str | None]:
    assert run.environment is not None
    return run.kernel, run.environment["kernels"]


@pytest.mark.parametrize(
    ("attempts", "kernel", "compiled"),
    [
        ([(("fused", AVX512), None), (("fused", AVX512), 10)], "fused", AVX512),
        ([(("fused", AVX512), None), (REFERENCE, 10)], "fused reference", AVX512),
        ([(REFERENCE, None), (("fused", AVX512), 10)], "fused reference", AVX512),
        ([(("fused", AVX512), None), (REFERENCE, 10), (REFERENCE, 20)], "fused reference", AVX512),
        ([(("fused", AVX512), None), (("fused", AVX2), 10)], "fused", f"{AVX2}; {AVX512}"),
        ([(("fused", TRITON), None), (("fused", AVX2), 10), (REFERENCE, 10)], "fused reference", f"{TRITON}; {AVX2}"),
        ([(("fused", AVX512), None), (REFERENCE, None)], "reference", None),
        ([(("fused", AVX512), None), (REFERENCE, 10), (("fused", AVX2), None)], "fused", AVX2),
        ([(("fused reference", AVX512), None), (("fused", AVX512), 10)], "fused reference", AVX512),
    ],
)
def test_a_run_has_the_kernels_of_all_attempts_since_it_began_anew(
    db: Database, attempts: list[tuple[tuple[str, str | None], int | None]], kernel: str, compiled: str | None
) -> None:
    run, _ = trained(db, *attempts)
    assert kernels_of(run) == (kernel, compiled)


def test_the_history_of_a_run_tells_once_that_its_kernel_changed(db: Database) -> None:
    run, lease = trained(db, (("fused", AVX512), None), (REFERENCE, 10))
    changed = {"attempt": 2, "reason": f"training goes on by kernel reference, after fused ({AVX512})", "lost": False}
    begun(db, lease, *REFERENCE, resumed_from=10)  # as a worker does whose commit got no answer
    told = [{key: entry[key] for key in changed} for entry in run_of(db, run.id).history if entry["attempt"] == 2]
    assert told == [changed]


def test_the_history_of_a_run_omits_a_kernel_that_stays_or_begins_anew(db: Database) -> None:
    run, _ = trained(db, (("fused", AVX512), None), (("fused", AVX512), 10), (REFERENCE, None), (REFERENCE, 10))
    assert [entry["reason"] for entry in run.history] == ["its worker stopped"] * 3


def test_the_board_calls_a_run_of_two_kernels_mixed(client: TestClient, db: Database) -> None:
    _, lease = trained(db, (("fused", AVX512), None), (REFERENCE, 10))
    finished(db, lease)
    assert [entry["kernel"] for entry in board(client)["entries"]] == ["mixed"]
