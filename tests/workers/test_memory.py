"""A training that wants more memory than there is ends as its own error, once, and its worker goes on."""

import errno
import os
import threading
from pathlib import Path
from typing import Any

import pytest
import torch

from service.db import Database
from service.settings import InvalidSettings, read_settings
from tests.processes import service, until
from tests.service.given import claimed, run_of, submitted
from tests.workers.test_trainer import job, job_of, messages
from workers.memory import MemoryWatch, cgroup_limits, for_trainings, in_words, ran_out
from workers.messages import Failed, RunStarted
from workers.report import Report
from workers.settings import WorkerSettings
from workers.tasks import Watch
from workers.trainer import Trainer

GIB = 1 << 30
SMOKE = {"name": "permuted_digits", "profile": "smoke"}
# By its sizes it needs 0.5 GiB; the reference loop takes three times as much.
LARGE: dict[str, Any] = {
    "model": {"cell": "lstm", "hidden_size": 200},
    "training": {"batch_size": 1000, "kernel": "reference", "precision": "float64", "max_steps": 2, "eval_every": 2},
}


def test_a_setting_is_what_trainings_get(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NORMBENCH_MEMORY_LIMIT", "8GiB")
    limit = read_settings(WorkerSettings).memory_limit
    assert limit == for_trainings(limit) == 8 * GIB
    for wrong in ("eight", "0", "-1GiB"):
        monkeypatch.setenv("NORMBENCH_MEMORY_LIMIT", wrong)
        with pytest.raises(InvalidSettings, match="NORMBENCH_MEMORY_LIMIT"):
            read_settings(WorkerSettings)


def test_without_a_setting_they_get_the_machine_s_less_a_reserve() -> None:
    there_is = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert there_is // 8 <= for_trainings(None) or cgroup_limits()
    assert for_trainings(None) < there_is


def written(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize(
    ("own", "files", "limits"),
    [
        ("0::/a/b\n", {"a/b/memory.max": "max\n", "a/memory.max": "1000\n", "memory.max": "5000\n"}, [1000, 5000]),
        ("0::/not/there\n", {"memory.max": "700\n"}, [700]),
        ("4:memory:/a\n", {"memory/a/memory.limit_in_bytes": "300\n", "memory.max": "1\n"}, [300]),
        ("3:cpu:/a\n", {"a/memory.max": "1\n"}, []),
        ("", {}, []),
    ],
    ids=["version 2", "a container", "version 1", "another controller", "none"],
)
def test_limits_are_those_of_the_control_groups_around(
    tmp_path: Path, own: str, files: dict[str, str], limits: list[int]
) -> None:
    groups = written(tmp_path / "groups", files) if files else tmp_path
    written(tmp_path, {"own": own})
    assert sorted(cgroup_limits(groups, tmp_path / "own")) == limits


@pytest.mark.parametrize(
    ("error", "is_memory"),
    [
        (MemoryError(), True),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), True),
        (RuntimeError("[enforce fail at alloc_cpu.cpp:117] . DefaultCPUAllocator: can't allocate memory"), True),
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"), True),
        (RuntimeError("shapes do not fit"), False),
        (OSError(errno.ENOSPC, "No space left on device"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_errors_that_say_that_there_is_no_memory(error: Exception, is_memory: bool) -> None:
    assert ran_out(error) is is_memory


def test_torch_s_own_error_is_recognised() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(1 << 50)
    assert ran_out(caught.value)


def test_what_the_kernel_kills_is_seen(tmp_path: Path) -> None:
    counts = tmp_path / "vmstat"
    counts.write_text("pgfault 9\noom_kill 3\n")
    watch = MemoryWatch(os.getpid(), GIB, counts)
    assert not watch.killed_by_kernel()
    counts.write_text("pgfault 10\noom_kill 4\n")
    assert watch.killed_by_kernel()


def test_a_process_within_its_limit_is_let_be() -> None:
    assert MemoryWatch(os.getpid(), 64 * GIB).excess() is None
    excess = MemoryWatch(os.getpid(), 1 << 20).excess()
    assert excess is not None
    assert excess.startswith("the training took ")
    assert excess.endswith(f" MiB, and its worker gives it {in_words(1 << 20)}")


def test_an_allocation_beyond_the_limit_is_the_training_s_own_error(tmp_path: Path) -> None:
    trainer = Trainer(job_of({"task": SMOKE, "norm": {"method": "none"}, **LARGE}, tmp_path, memory=GIB))
    told = list(messages(trainer))
    trainer.close()
    assert isinstance(told[-1], Failed), told
    assert told[-1].error.startswith("out of memory: its worker gives it 1,024 MiB: ")
    assert "ran out of memory" in (tmp_path / "log.txt").read_text()


def test_the_kernel_kills_trainings_first(tmp_path: Path) -> None:
    trainer = Trainer(job(tmp_path))
    next(message for message in messages(trainer) if isinstance(message, RunStarted))
    assert Path(f"/proc/{trainer.pid}/oom_score_adj").read_text() == "1000\n"
    trainer.kill()
    trainer.close()


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_training_that_grows_past_its_limit_is_killed_and_fails_once(tmp_path: Path, db: Database) -> None:
    experiment = submitted(db)
    lease, stopping, settings = claimed(db).lease, threading.Event(), WorkerSettings()
    trainer = Trainer(job(tmp_path, max_steps=100_000, eval_every=50_000))
    report = Report(db, settings, lease, "cpu", stopping)
    Watch(trainer, report, settings, 60.0, stopping, MemoryWatch(trainer.pid, 1 << 20)).until_end()()
    assert trainer.close() == "killed by SIGKILL"
    run = run_of(db, experiment.runs[0].id)
    assert (run.state, run.attempt) == ("failed", 1)
    assert run.error is not None
    assert run.error.startswith("out of memory: the training took ")


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(("kills", "state"), [(1, "failed"), (0, "queued")], ids=["the kernel", "somebody else"])
def test_who_killed_a_training_decides_whether_it_is_tried_again(
    tmp_path: Path, db: Database, kills: int, state: str
) -> None:
    experiment, counts = submitted(db), tmp_path / "vmstat"
    lease, stopping, settings = claimed(db).lease, threading.Event(), WorkerSettings()
    counts.write_text("oom_kill 5\n")
    trainer = Trainer(job(tmp_path))
    memory = MemoryWatch(trainer.pid, 8 * GIB, counts)
    counts.write_text(f"oom_kill {5 + kills}\n")
    trainer.kill()
    Watch(trainer, Report(db, settings, lease, "cpu", stopping), settings, 60.0, stopping, memory).until_end()()
    run = run_of(db, experiment.runs[0].id)
    assert run.state == state
    assert run.error == ("out of memory: the kernel killed the training process" if kills else None)


def test_a_worker_lives_on_after_a_training_that_ran_out_of_memory(tmp_path: Path) -> None:
    with service(tmp_path, memory_limit="1GiB") as running:
        running.up()
        (worker,) = until(lambda: running.get("/v1/workers")["items"], 60, running.logs)
        experiment = running.submit("none", **LARGE)
        run = running.wait_ended(experiment)
        assert (run["state"], run["attempt"], run["history"]) == ("failed", 1, [])
        assert run["error"].startswith("out of memory: ")
        running.wait_succeeded(running.submit("none"))
        (still,) = running.get("/v1/workers")["items"]
        assert still["pid"] == worker["pid"]
