"""A run in its training process: what it stores, and what it starts from. The process itself: ``test_trainer``."""

import json
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

import pytest
import torch

from normcore.data.registry import DatasetError
from normcore.events import Divergence, Evaluating, Event, Finished, Measured, Probed, Started, Stepped
from normcore.probe import TIMES, probe
from normcore.run import run
from normcore.spec import parse
from normcore.training import checkpoint
from service.artifacts import Artifacts
from service.experiments.machines import Start
from service.statistics.certificate import certificate
from tests.hog import hog, one_core
from tests.service.sample_runs import QUIET, result_of, started, started_on, timing_of
from tests.workers.test_trainer import job
from workers import bundle
from workers.bundle import Bundle
from workers.messages import Job, Message, Progress, RunFinished, RunStarted
from workers.training import TrainingAttempt, UnstoredMeasurements

NEWEST, OLDER = 20, 10


def told_by(job: Job) -> list[Message]:
    """All messages of a training in this process."""
    worker, training = Pipe()
    with worker, training:
        end = TrainingAttempt(job, training, threading.Event(), UnstoredMeasurements()).until_end()
        told = []
        while worker.poll():
            told.append(worker.recv())
        return [*told, end]


def telling(*events: Event) -> Callable[..., Iterator[Event]]:
    """Replacement of ``normcore.run.run`` that gives these events."""
    return lambda *args, **options: iter(events)


# -- progress -----------------------------------------------------------------------------------------


def test_a_phase_of_an_evaluation_is_reported_before_it_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    end = Finished("completed", result_of(), timing_of(), lambda: b"weights")
    events: list[Event] = [Stepped(10, 1.0, lambda: b""), Evaluating(10, 1.0, "validation"), measured(10), end]
    monkeypatch.setattr("workers.training.run", telling(started(), *events))
    told = [message for message in told_by(job(tmp_path)) if isinstance(message, Progress | Measured)]
    assert told[-2:] == [Progress(10, 1.0, "validation"), measured(10)]


# -- outputs ------------------------------------------------------------------------------------------


def test_the_model_and_the_tasks_artifacts_are_stored_before_the_end_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    artifacts = {"sample.txt": lambda: b"once upon a time", "figures/confusion_matrix.json": lambda: b"{}"}
    end = Finished("completed", result_of(), timing_of(), lambda: b"weights", artifacts)
    monkeypatch.setattr("workers.training.run", telling(started(), Probed(QUIET), end))
    *_, last = told_by(job(tmp_path, attempt=3))
    assert last == RunFinished("completed", result_of(), timing_of(), Start.of(started().environment).add_probe(QUIET))
    store = Artifacts(str(tmp_path))
    assert store.read("run_1", 3, "model.pt") == b"weights"
    assert store.read("run_1", 3, "sample.txt") == b"once upon a time"
    assert store.read("run_1", 3, "figures/confusion_matrix.json") == b"{}"


def test_the_log_of_a_run_that_diverged_says_what_broke(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    result = result_of(value=None, divergence=Divergence("train.loss", 10, {"train.loss": 2.31}))
    monkeypatch.setattr("workers.training.run", telling(started(), Finished("diverged", result, timing_of(), bytes)))
    told_by(job(tmp_path))
    assert "diverged at step 10: train.loss was no longer finite; before that it was 2.31" in caplog.messages


@pytest.mark.parametrize("error", [OSError("no such font"), ZeroDivisionError("division by zero")])
def test_an_artifact_that_cannot_be_made_is_missing_and_the_log_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> bytes:
        raise error

    artifacts = {"sample.txt": broken, "figures/whole.json": lambda: b"{}"}
    end = Finished("completed", result_of(), timing_of(), lambda: b"weights", artifacts)
    monkeypatch.setattr("workers.training.run", telling(started(), Probed(QUIET), end))
    *_, last = told_by(job(tmp_path))
    assert isinstance(last, RunFinished)
    assert last.result == result_of()
    names = {artifact.name for artifact in Artifacts(str(tmp_path)).list("run_1")}
    assert {"model.pt", "figures/whole.json"} <= names
    assert "sample.txt" not in names
    (said,) = (one for one in caplog.records if one.getMessage().startswith("sample.txt could not be made"))
    assert said.exc_info is not None
    assert said.exc_info[1] is error


def test_a_model_that_cannot_be_stored_is_an_error_of_the_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> bytes:
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(
        "workers.training.run", telling(started(), Finished("completed", result_of(), timing_of(), broken))
    )
    with pytest.raises(ZeroDivisionError):
        told_by(job(tmp_path))


# -- checkpoints that cannot be used ------------------------------------------------------------------


@pytest.fixture
def checkpoints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Artifacts:
    """Real checkpoints of steps 10 and 20, left by a first attempt. The probes of this attempt and of the next are
    repeated once, not nine times."""
    monkeypatch.setattr("normcore.probe.TIMES", 1)
    store, events = Artifacts(str(tmp_path)), events_of(job(tmp_path))
    begun = next(events)
    assert isinstance(begun, Started)
    start = Start.of(begun.environment).add_probe(QUIET)
    for event in events:
        if isinstance(event, Stepped) and event.step in (OLDER, NEWEST):
            content = Bundle(event.checkpoint(), start, [measured(event.step)])
            store.write("run_1", 1, name_of(event.step), bundle.pack(content))
        if isinstance(event, Stepped) and event.step == NEWEST:
            break
    return store


def events_of(job: Job) -> Iterator[Event]:
    events: Any = run(parse(job.spec), job.seed, device="cpu", datasets_dir=job.datasets_dir, threads=1)
    yield from events


def name_of(step: int) -> str:
    return f"checkpoint-{step:012d}.pt"


def measured(step: int) -> Measured:
    return Measured(step, step / 10, {"train.loss": 1.0})


def change(store: Artifacts, step: int, how: Callable[[bytes], bytes]) -> None:
    """Replace the training's state in a checkpoint."""
    rewrite(store, step, lambda past: replace(past, state=how(past.state)))


def rewrite(store: Artifacts, step: int, how: Callable[[Bundle], Bundle]) -> None:
    """Replace a checkpoint."""
    past = bundle.unpack(store.read("run_1", 1, name_of(step)))
    store.write("run_1", 1, name_of(step), bundle.pack(how(past)))


def with_header(**changes: Any) -> Callable[[bytes], bytes]:
    def how(state: bytes) -> bytes:
        line, _, payload = state.partition(b"\n")
        return json.dumps({**json.loads(line), **changes}).encode() + b"\n" + payload

    return how


def of_other_code(state: bytes) -> bytes:
    """A whole checkpoint of this run, whose content this code does not understand."""
    header = json.loads(state.partition(b"\n")[0])
    return checkpoint.pack({"weights": {}}, header["fingerprint"], header["seed"])


UNUSABLE = {
    "older version": with_header(version=0),
    "other fingerprint": with_header(fingerprint="f" * 64),
    "torn": lambda state: state[:-100],
    "of other code": of_other_code,
}


def resumed(folder: Path) -> RunStarted:
    first, *_ = told_by(job(folder, attempt=2))
    assert isinstance(first, RunStarted)
    return first


def test_a_run_resumes_from_its_newest_checkpoint(tmp_path: Path, checkpoints: Artifacts) -> None:
    message = resumed(tmp_path)
    assert (message.started.step, message.resumed_from, message.notes) == (NEWEST, NEWEST, ())
    assert message.measured == (measured(NEWEST),)


@pytest.mark.parametrize("why", UNUSABLE)
def test_a_checkpoint_that_cannot_be_used_gives_way_to_an_older_one(
    tmp_path: Path, checkpoints: Artifacts, why: str
) -> None:
    change(checkpoints, NEWEST, UNUSABLE[why])
    message = resumed(tmp_path)
    assert (message.started.step, message.resumed_from) == (OLDER, OLDER)
    assert message.measured == (measured(OLDER),)
    assert message.notes[0].startswith(f"checkpoint 1.{name_of(NEWEST)} cannot be used: ")
    assert message.notes[1:] == (f"training resumes from an older checkpoint, at step {OLDER}",)


@pytest.mark.parametrize("why", UNUSABLE)
def test_a_run_without_a_usable_checkpoint_starts_again_and_succeeds(
    tmp_path: Path, checkpoints: Artifacts, why: str
) -> None:
    for step in (OLDER, NEWEST):
        change(checkpoints, step, UNUSABLE[why])
    first, *_, last = told_by(job(tmp_path, attempt=2))
    assert isinstance(first, RunStarted)
    assert (first.started.step, first.resumed_from, first.measured) == (0, None, ())
    assert [note.partition(" cannot")[0] for note in first.notes] == [
        f"checkpoint 1.{name_of(NEWEST)}",
        f"checkpoint 1.{name_of(OLDER)}",
        "training starts again from the beginning",
    ]
    assert isinstance(last, RunFinished)


def test_a_checkpoint_of_older_code_is_not_resumed_from(tmp_path: Path, checkpoints: Artifacts) -> None:
    """Otherwise half of the run would be by older code and half by newer code."""
    for step in (OLDER, NEWEST):
        rewrite(checkpoints, step, lambda past: replace(past, start=replace(past.start, code="0" * 64)))
    first, *_ = told_by(job(tmp_path, attempt=2))
    assert isinstance(first, RunStarted)
    assert (first.started.step, first.resumed_from) == (0, None)
    assert first.notes[0] == f"checkpoint 1.{name_of(NEWEST)} cannot be used: it was written by older code"


def test_a_checkpoint_that_does_not_tell_its_code_is_resumed_from(tmp_path: Path, checkpoints: Artifacts) -> None:
    rewrite(checkpoints, NEWEST, lambda past: replace(past, start=replace(past.start, code=None)))
    assert resumed(tmp_path).resumed_from == NEWEST


@pytest.mark.parametrize(
    "error", [DatasetError("ptb is not there", ("task", "corpus")), OSError("disk"), MemoryError()]
)
def test_an_error_that_is_not_the_checkpoints_fault_keeps_the_checkpoint(
    tmp_path: Path, checkpoints: Artifacts, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def away(*args: object, **options: object) -> Iterator[Event]:
        raise error
        yield

    monkeypatch.setattr("workers.training.run", away)
    with pytest.raises(type(error)):
        told_by(job(tmp_path, attempt=2))


# -- what a run began on ------------------------------------------------------------------------------


def end_of(told: list[Message]) -> RunFinished:
    assert isinstance(told[-1], RunFinished)
    return told[-1]


def test_a_run_is_probed_before_and_after_its_updates_and_tells_both(tmp_path: Path) -> None:
    end = end_of(told_by(job(tmp_path)))
    assert len(end.start.probe) == len(end.timing.probe) == TIMES
    assert not end.start.moved
    assert end.start.machine.endswith(", 1 thread")


def test_a_run_that_is_killed_after_its_training_is_probed_again_before_it_ends(
    tmp_path: Path, checkpoints: Artifacts
) -> None:
    """The slower start counts: here the start of the attempt that was killed."""
    slow = (999.0,)
    rewrite(checkpoints, NEWEST, lambda past: replace(past, start=replace(past.start, probe=slow)))
    end = end_of(told_by(job(tmp_path, attempt=2)))
    assert tuple(end.start.probe) == slow
    assert 0 < min(end.timing.probe) < 999
    assert not end.start.moved
    rewrite(checkpoints, NEWEST, lambda past: replace(past, start=replace(past.start, probe=(0.0,))))
    assert min(end_of(told_by(job(tmp_path, attempt=2))).start.probe) > 0


def test_a_run_that_resumes_on_another_machine_counts_as_moved_from_then_on(
    tmp_path: Path, checkpoints: Artifacts
) -> None:
    rewrite(checkpoints, NEWEST, lambda past: replace(past, start=started_on("elsewhere")))
    first, *_, last = told_by(replace(job(tmp_path, attempt=2), checkpoint_seconds=0.0))
    assert isinstance(first, RunStarted)
    here = end_of([last]).start
    assert first.notes == (f"training goes on on {here.machine}, after {started_on('elsewhere').machine}",)
    assert here.moved
    assert end_of(told_by(replace(job(tmp_path, attempt=3), started_attempt=2, resumed_from=NEWEST))).start.moved


def test_a_run_with_a_hog_on_its_core_has_not_been_alone(tmp_path: Path) -> None:
    with one_core() as core:
        quiet = min(min(probe(torch.device("cpu"))) for _ in range(3))
        with hog(core):
            end = end_of(told_by(job(tmp_path)))
    found = certificate(end.start.probe, end.timing.probe, [quiet] * 5, end.timing.windows)
    assert found.contended
    assert found.kernel_ratio > 1.3
