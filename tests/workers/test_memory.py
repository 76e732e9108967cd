"""A training that wants more memory than there is ends as its own error, once, and its worker goes on."""

import errno
import mmap
import os
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import torch

from service.db import Database
from service.settings import InvalidSettings, read_settings
from tests.processes import service, until
from tests.service.sample_runs import claimed, run_of, submitted
from tests.workers.small_memory import train_with_small_memory
from tests.workers.test_trainer import job, job_of, messages
from workers import fork_server
from workers.memory import TO_BLAME, MemoryWatch, cgroup_limits, for_training, in_words, ran_out
from workers.messages import Failed, RunStarted
from workers.report import RunReport
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


def test_the_memory_limit_of_the_settings_is_that_of_trainings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NORMBENCH_MEMORY_LIMIT", "8GiB")
    limit = read_settings(WorkerSettings).memory_limit
    assert limit == for_training(limit, [1]) == 8 * GIB
    for wrong in ("eight", "0", "-1GiB"):
        monkeypatch.setenv("NORMBENCH_MEMORY_LIMIT", wrong)
        with pytest.raises(InvalidSettings, match="NORMBENCH_MEMORY_LIMIT"):
            read_settings(WorkerSettings)


def test_trainings_without_a_setting_get_the_memory_of_the_machine_less_a_reserve() -> None:
    there_is = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert there_is // 8 <= for_training(None, []) or cgroup_limits()
    assert for_training(None, []) < there_is


@pytest.mark.parametrize(("there_is", "given"), [(GIB // 2, GIB // 6 + 1), (GIB, 384 << 20), (6 * GIB, 21 * GIB // 4)])
def test_the_services_own_processes_have_room_in_a_small_container(
    there_is: int, given: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("workers.memory.cgroup_limits", lambda: [there_is])
    assert for_training(None, []) == given


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


def raised(error: Exception, cause: Exception) -> Exception:
    """An error as it was raised because of another."""
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("error", "is_memory"),
    [
        (MemoryError(), True),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), True),
        (RuntimeError("[enforce fail at alloc_cpu.cpp:117] . DefaultCPUAllocator: can't allocate memory"), True),
        (torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"), True),
        (RuntimeError("unable to mmap 4096 bytes from file <model.pt>: Cannot allocate memory (12)"), True),
        (OSError("fork: Cannot allocate memory"), True),
        (raised(ValueError("the checkpoint is torn"), MemoryError()), True),
        (raised(ValueError("the checkpoint is torn"), KeyError("weights")), False),
        (RuntimeError("shapes do not fit"), False),
        (OSError(errno.ENOSPC, "No space left on device"), False),
        (ValueError("out of memory"), False),
    ],
)
def test_errors_of_exhausted_memory_are_recognised(error: Exception, is_memory: bool) -> None:
    assert ran_out(error) is is_memory


def test_torch_s_own_error_is_recognised() -> None:
    with pytest.raises(RuntimeError) as caught:
        torch.empty(1 << 50)
    assert ran_out(caught.value)


def test_a_training_is_to_blame_if_it_was_near_its_limit_and_the_kernel_has_killed(tmp_path: Path) -> None:
    counts = tmp_path / "vmstat"
    counts.write_text("pgfault 9\noom_kill 3\n")
    small, large = (MemoryWatch(os.getpid(), limit, counts) for limit in (64 * GIB, 1 << 20))
    for watch in (small, large):
        watch.excess()
        assert watch.explain_kernel_kill() is None
    counts.write_text("pgfault 10\noom_kill 4\n")
    assert (small.is_to_blame, large.is_to_blame) == (False, True)
    assert large.explain_kernel_kill() == f"the training took {in_words(large.peak)}, and its worker gives it 1 MiB"


def test_pages_of_files_do_not_count_as_memory_of_a_training() -> None:
    """A process that maps and reads a file takes no memory that the kernel could not take back."""
    watch, file = MemoryWatch(os.getpid(), 64 * GIB), Path(torch.__file__).parent / "lib" / "libtorch_cpu.so"
    assert file.stat().st_size > 200 << 20
    watch.excess()
    before = watch.peak
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, prot=mmap.PROT_READ) as pages:
        assert any(pages[:: mmap.PAGESIZE])
        watch.excess()
        assert watch.peak - before < 64 << 20
    own = bytearray(256 << 20)
    own[:: mmap.PAGESIZE] = b"x" * len(own[:: mmap.PAGESIZE])
    watch.excess()
    assert watch.peak - before > 200 << 20


def test_a_process_within_its_limit_is_not_stopped() -> None:
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
    report = RunReport(db, settings, lease, "cpu", stopping)
    Watch(trainer, report, settings, 60.0, stopping, MemoryWatch(trainer.pid, 1 << 20)).until_end()()
    assert trainer.close() == "killed by SIGKILL"
    run = run_of(db, experiment.runs[0].id)
    assert (run.state, run.attempt) == ("failed", 1)
    assert run.error is not None
    assert run.error.startswith("out of memory: the training took ")


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
@pytest.mark.parametrize(
    ("kills", "limit", "state"),
    [(1, 128 << 20, "failed"), (1, 64 * GIB, "queued"), (0, 128 << 20, "queued")],
    ids=["the kernel, of its own size", "the kernel, for want of others", "somebody else"],
)
def test_a_killed_training_is_retried_unless_its_own_memory_was_the_reason(
    tmp_path: Path, db: Database, kills: int, limit: int, state: str
) -> None:
    experiment, counts = submitted(db), tmp_path / "vmstat"
    lease, stopping, settings = claimed(db).lease, threading.Event(), WorkerSettings()
    counts.write_text("oom_kill 5\n")
    trainer = Trainer(job(tmp_path))
    memory = MemoryWatch(trainer.pid, limit, counts)
    next(message for message in messages(trainer) if isinstance(message, RunStarted))
    memory.excess()
    counts.write_text(f"oom_kill {5 + kills}\n")
    trainer.kill()
    until(lambda: memory.excess() is None, 30.0, lambda: "its memory is not free")
    Watch(trainer, RunReport(db, settings, lease, "cpu", stopping), settings, 60.0, stopping, memory).until_end()()
    run = run_of(db, experiment.runs[0].id)
    assert run.state == state
    if state == "failed":
        assert run.error is not None
        assert run.error.startswith("out of memory: the kernel killed the training process: the training took ")
    else:
        assert run.error is None
        by_kernel = "the machine was out of memory, and the kernel killed the training: the training took "
        assert run.history[-1]["reason"].startswith(
            by_kernel if kills else "the training process was killed by SIGKILL"
        )
    assert memory.peak < TO_BLAME * 64 * GIB


def test_exhausted_memory_in_a_call_of_the_store_is_the_trainings_own_error(tmp_path: Path) -> None:
    ours, theirs = fork_server.context.Pipe()
    spec = {"task": SMOKE, "norm": {"method": "none"}}
    given = job_of(spec, tmp_path, artifacts_url="small://store", checkpoint_seconds=0.0)
    training = fork_server.context.Process(target=train_with_small_memory, args=(given, theirs))
    training.start()
    theirs.close()
    told = []
    with suppress(EOFError):
        while True:
            told.append(ours.recv())
    training.join()
    ours.close()
    assert told[-1] == Failed("out of memory: its worker gives it 8,192 MiB: artifact store: MemoryError:")


def test_a_worker_lives_on_after_a_training_that_ran_out_of_memory(tmp_path: Path) -> None:
    with service(tmp_path, memory_limit="1GiB") as running:
        running.work()
        (worker,) = until(lambda: running.get("/v1/workers")["items"], 60, running.logs)
        experiment = running.submit("none", **LARGE)
        run = running.wait_ended(experiment)
        assert (run["state"], run["attempt"], run["history"]) == ("failed", 1, [])
        assert run["error"].startswith("out of memory: ")
        running.wait_succeeded(running.submit("none", training={"max_steps": 2, "eval_every": 2}))
        (still,) = running.get("/v1/workers")["items"]
        assert still["pid"] == worker["pid"]
