"""A training process, seen from outside: what it says, and how it ends."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any

import psutil
import pytest

from normcore.events import Analysed, Measured
from normcore.own_code import present_code
from normcore.spec import resolve
from service.artifacts import Artifacts
from service.experiments.analysis_model import OF_OLDER_CODE, Model
from tests.service.sample_runs import written
from tests.warm_python import WarmPython, warm_python
from workers import fork_server
from workers.messages import Failed, Job, Message, Progress, RunFinished, RunStarted, Saved, Stopped, Stored, Troubled
from workers.trainer import Trainer

LONG: dict[str, Any] = {"max_steps": 100_000, "eval_every": 5, "target": None}


def job(
    folder: Path,
    run_id: str = "run_1",
    checkpoint_seconds: float = 1e9,
    attempt: int = 1,
    method: str = "none",
    **training: Any,
) -> Job:
    spec = {
        "task": {"name": "permuted_digits", "profile": "smoke"},
        "norm": {"method": method},
        "training": training,
    }
    return job_of(spec, folder, run_id=run_id, checkpoint_seconds=checkpoint_seconds, attempt=attempt)


def job_of(spec: dict[str, Any], folder: Path, **changes: Any) -> Job:
    usual = {
        "run_id": "run_1",
        "attempt": 1,
        "seed": 3,
        "spec": resolve(spec).model_dump(mode="json"),
        "started_attempt": 0,
        "resumed_from": 0,
        "model": None,
        "device": "cpu",
        "no_kernels": None,
        "changed": (),
        "threads": 1,
        "memory": 8 << 30,
        "datasets_dir": folder / "datasets",
        "artifacts_url": str(folder),
        "checkpoint_seconds": 1e9,
        "log": folder / "log.txt",
        "digests": {},
    }
    return Job(**{**usual, **changes})


@pytest.fixture
def trainers() -> Iterator[list[Trainer]]:
    started: list[Trainer] = []
    yield started
    for trainer in started:
        trainer.kill()
        trainer.close()


def messages(trainer: Trainer, seconds: float = 60.0) -> Iterator[Message]:
    """All messages until the process is gone."""
    deadline = time.monotonic() + seconds
    while not trainer.is_gone:
        assert time.monotonic() < deadline
        message = trainer.next(timeout=0.1)
        if message is not None:
            yield message


def first(trainer: Trainer, kind: type) -> Any:
    return next(message for message in messages(trainer) if isinstance(message, kind))


def process_of(trainer: Trainer) -> psutil.Process:
    return psutil.Process(trainer._process.pid)


def measured(all_messages: list[Message]) -> list[tuple[int, dict[str, float]]]:
    return [(m.step, dict(m.values)) for m in all_messages if isinstance(m, Measured)]


def test_a_run_begins_measures_and_ends(tmp_path: Path, trainers: list[Trainer]) -> None:
    trainers.append(Trainer(job(tmp_path)))
    said = list(messages(trainers[0]))
    assert isinstance(said[0], RunStarted)
    assert said[0].resumed_from is None
    assert [step for step, _ in measured(said)] == [10, 20, 30, 40]
    assert isinstance(said[-1], RunFinished)
    value = said[-1].result.value
    assert value is not None
    assert 0 <= value <= 1
    assert {a.name for a in Artifacts(str(tmp_path)).list("run_1")} >= {"model.pt", "environment.json"}


def test_an_analysis_reports_its_pieces_its_curves_and_its_findings(tmp_path: Path, trainers: list[Trainer]) -> None:
    told = list(messages(analysis_of(tmp_path, trainers, {"name": "gradient_flow", "profile": "smoke"})))
    started, *between, last = told
    assert isinstance(started, RunStarted)
    assert started.started.max_steps == 2
    assert [message.step for message in between if isinstance(message, Progress)] == [1, 2]
    assert {message.step for message in between if isinstance(message, Measured)} == set(range(64))
    assert isinstance(last, Analysed)


def test_an_analysis_that_is_asked_to_stop_does_so_after_its_piece(tmp_path: Path, trainers: list[Trainer]) -> None:
    trainer = analysis_of(tmp_path, trainers, {"name": "smallest_batch", "updates": 20})
    first(trainer, Progress)
    trainer.stop()
    *_, last = messages(trainer)
    assert last == Stopped(None)


def test_an_analysis_of_a_model_that_is_gone_fails_and_waits_if_the_store_seems_away(
    tmp_path: Path, trainers: list[Trainer]
) -> None:
    run_id = "run_01KAJ3V6BCDEFGHJKMNPQRSTVW"
    task = {"name": "population_statistics", "run": run_id}
    *_, last = messages(analysis_of(tmp_path, trainers, task))
    assert last == Troubled(f"artifact store: FileNotFoundError: there are no files of run {run_id}")
    Artifacts(str(tmp_path)).write(run_id, 1, "log.txt", b"trained")
    *_, last = messages(analysis_of(tmp_path, trainers, task))
    assert isinstance(last, Failed)
    assert f"run {run_id} has no artifact 'model.pt'" in last.error


def test_an_analysis_of_a_model_whose_code_was_edited_since_it_was_submitted_fails(
    tmp_path: Path, trainers: list[Trainer]
) -> None:
    """Otherwise the weights would be analysed by code that did not train them."""
    run_id = "run_01KAJ3V6BCDEFGHJKMNPQRSTVW"
    task = {"name": "population_statistics", "run": run_id}
    trained = resolve(written("recurrent_batch_norm"))
    Artifacts(str(tmp_path)).write(run_id, 1, "log.txt", b"trained")
    for code, said in [
        ("0" * 64, OF_OLDER_CODE),
        (present_code(trained), f"NotFound: run {run_id} has no artifact 'model.pt'"),
        (None, f"NotFound: run {run_id} has no artifact 'model.pt'"),
    ]:
        model = Model(1, trained.model_dump(mode="json"), code)
        *_, last = messages(analysis_of(tmp_path, trainers, task, model))
        assert isinstance(last, Failed)
        assert last.error.startswith(said)


def analysis_of(folder: Path, trainers: list[Trainer], task: dict[str, Any], model: Model | None = None) -> Trainer:
    trainers.append(Trainer(job_of({"task": task}, folder, model=model)))
    return trainers[-1]


def test_a_training_process_leads_its_own_process_group(tmp_path: Path, trainers: list[Trainer]) -> None:
    trainers.append(Trainer(job(tmp_path, **LONG)))
    first(trainers[0], RunStarted)
    assert os.getpgid(process_of(trainers[0]).pid) == process_of(trainers[0]).pid != os.getpgid(0)


def test_a_stopped_training_leaves_a_checkpoint_that_resumes_bit_for_bit(
    tmp_path: Path, trainers: list[Trainer]
) -> None:
    short: dict[str, Any] = {**LONG, "max_steps": 30, "method": "recurrent_batch_norm"}
    trainers.append(Trainer(job(tmp_path, "run_whole", **short)))
    whole = list(messages(trainers[0]))

    trainers.append(Trainer(job(tmp_path, "run_broken", **short)))
    said = [*_until_measured(trainers[1]), *_until_measured(trainers[1])]  # the first brings a checkpoint anyhow
    trainers[1].stop()
    said += messages(trainers[1])
    stopped = said[-1]
    assert isinstance(stopped, Stopped)

    trainers.append(Trainer(job(tmp_path, "run_broken", attempt=2, **short)))
    rest = list(messages(trainers[2]))
    assert isinstance(rest[0], RunStarted)
    assert rest[0].resumed_from == stopped.step
    assert measured(said) + measured(rest) == measured(whole)
    assert measured(list(rest[0].measured)) == measured(said), "nobody said that they are stored"
    assert isinstance(rest[-1], RunFinished)
    assert isinstance(whole[-1], RunFinished)
    assert rest[-1].result.value == whole[-1].result.value


def test_a_checkpoint_holds_measurements_not_confirmed_as_stored(tmp_path: Path, trainers: list[Trainer]) -> None:
    trainers.append(Trainer(job(tmp_path, **LONG)))
    steps = [message.step for message in islice(only_measured(trainers[0]), 3)]
    trainers[0].tell(Stored(steps[1]))
    steps += [message.step for message in islice(only_measured(trainers[0]), 100)]  # while its listener reads that
    trainers[0].stop()
    steps += [message.step for message in only_measured(trainers[0])]

    trainers.append(Trainer(job(tmp_path, attempt=2, **LONG)))
    started = first(trainers[1], RunStarted)
    assert [m.step for m in started.measured] == steps[2:]
    trainers[1].stop()
    list(messages(trainers[1]))

    trainers.append(Trainer(job(tmp_path, attempt=3, **LONG)))
    again = first(trainers[2], RunStarted)
    assert [m.step for m in again.measured][: len(steps) - 2] == steps[2:], "the second attempt's word is not known yet"


def only_measured(trainer: Trainer) -> Iterator[Measured]:
    return (message for message in messages(trainer) if isinstance(message, Measured))


def _until_measured(trainer: Trainer) -> Iterator[Message]:
    for message in messages(trainer):
        yield message
        if isinstance(message, Measured):
            return


def test_a_torn_checkpoint_gives_way_to_the_one_before(tmp_path: Path, trainers: list[Trainer]) -> None:
    store = Artifacts(str(tmp_path))
    trainers.append(Trainer(job(tmp_path, checkpoint_seconds=1e-9, **LONG)))
    first(trainers[0], Measured)
    trainers[0].stop()
    list(messages(trainers[0]))
    older, newest = sorted(a.name for a in store.list("run_1") if a.name.startswith("checkpoint"))
    store.write("run_1", 1, newest, store.read("run_1", 1, newest)[:-100])

    trainers.append(Trainer(job(tmp_path, **LONG)))
    started = first(trainers[1], RunStarted)
    assert started.resumed_from == int(older.removeprefix("checkpoint-").removesuffix(".pt"))
    assert [newest in note for note in started.notes] == [True, False]


def test_a_training_without_a_whole_checkpoint_begins_anew_and_says_so(tmp_path: Path, trainers: list[Trainer]) -> None:
    Artifacts(str(tmp_path)).write("run_1", 1, "checkpoint-000000000007.pt", b"nonsense")
    trainers.append(Trainer(job(tmp_path, **LONG)))
    started = first(trainers[0], RunStarted)
    assert started.resumed_from is None
    assert started.started.step == 0
    assert "checkpoint-000000000007.pt" in started.notes[0]


def test_a_store_that_cannot_be_written_to_is_reported_as_trouble(tmp_path: Path, trainers: list[Trainer]) -> None:
    (tmp_path / "run_1").write_text("a file where a folder should be")
    trainers.append(Trainer(job(tmp_path)))
    *_, last = messages(trainers[0])
    assert isinstance(last, Troubled)
    assert last.reason.startswith("artifact store: ")
    assert "run_1" in last.reason


def test_missing_data_is_reported_as_trouble(tmp_path: Path, trainers: list[Trainer]) -> None:
    spec = {"task": {"name": "sequential_mnist", "profile": "smoke"}}
    trainers.append(Trainer(job_of(spec, tmp_path)))
    *_, last = messages(trainers[0])
    assert isinstance(last, Troubled)
    assert "mnist" in last.reason


def test_an_error_of_the_training_itself_fails_it_and_its_log_has_the_traceback(
    tmp_path: Path, trainers: list[Trainer]
) -> None:
    broken = job(tmp_path)
    spec = {**broken.spec, "model": {**broken.spec["model"], "hidden_size": 10**12}}
    trainers.append(Trainer(replace(broken, spec=spec)))
    *_, last = messages(trainers[0])
    assert isinstance(last, Failed)
    log = Artifacts(str(tmp_path)).read("run_1", 1, "log.txt").decode()
    assert "Traceback" in log
    assert last.error.partition(":")[0] in log


OPTIONS = """
from typing import ClassVar, Literal
from normcore.spec.methods.method import Method

class Absolute(Method):
    title: ClassVar[str] = "Absolute"
    citation: ClassVar[str] = "nobody"
    takes: ClassVar = frozenset({"input"})
    home: ClassVar[str] = "absolute_norm.layers"
    method: Literal["absolute"] = "absolute"
"""
TRAIN_IT = """
import sys
from pathlib import Path
from tests.workers.test_trainer import job, messages
from workers.trainer import Trainer

if __name__ == "__main__":
    trainer = Trainer(job(Path(sys.argv[1]), method="absolute"))
    *_, last = messages(trainer)
    trainer.close()
    print(repr(last))
"""


def test_a_package_that_cannot_be_imported_fails_a_run_with_one_line_in_its_log(tmp_path: Path) -> None:
    package, about = tmp_path / "absolute_norm", tmp_path / "absolute_norm-1.2.dist-info"
    for folder in (package, about, tmp_path / "store"):
        folder.mkdir()
    (package / "__init__.py").write_text(OPTIONS)
    (package / "layers.py").write_text("import no_such_compiler")
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: absolute-norm\nVersion: 1.2\n")
    (about / "entry_points.txt").write_text("[normbench.methods]\nabsolute = absolute_norm:Absolute\n")
    (tmp_path / "train_it.py").write_text(TRAIN_IT)
    done = subprocess.run(
        [sys.executable, str(tmp_path / "train_it.py"), str(tmp_path / "store")],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    cannot = "absolute_norm.layers:Absolute cannot be imported: ModuleNotFoundError: No module named 'no_such_compiler'"
    assert done.stdout.strip() == repr(Failed(f"absolute, of absolute-norm 1.2: {cannot}"))
    log = Artifacts(str(tmp_path / "store")).read("run_1", 1, "log.txt").decode()
    assert log.count("no_such_compiler") == 1
    assert "Traceback" not in log


def test_every_checkpoint_is_reported_once_it_is_stored(tmp_path: Path, trainers: list[Trainer]) -> None:
    trainers.append(Trainer(job(tmp_path, checkpoint_seconds=1e-9, **LONG)))
    saved = list(islice((message.step for message in messages(trainers[0]) if isinstance(message, Saved)), 3))
    assert saved == [1, 2, 3]


def test_the_log_of_a_training_has_measurements_and_checkpoints(tmp_path: Path, trainers: list[Trainer]) -> None:
    trainers.append(Trainer(job(tmp_path, checkpoint_seconds=1e-9, attempt=2)))
    list(messages(trainers[0]))
    lines = Artifacts(str(tmp_path)).read("run_1", 2, "log.txt").decode().splitlines()
    assert "attempt 2 on cpu from step 0 on" in lines[0]
    assert any("step 10  " in line and "valid.accuracy 0." in line for line in lines)
    assert any("checkpoint at step 7" in line for line in lines)
    assert "completed: test accuracy 0." in lines[-1] or "reached_target: test accuracy 0." in lines[-1]


def test_a_killed_training_process_is_gone_and_says_what_killed_it(tmp_path: Path, trainers: list[Trainer]) -> None:
    trainer = Trainer(job(tmp_path, **LONG))
    first(trainer, Progress)
    process_of(trainer).send_signal(signal.SIGKILL)
    list(messages(trainer))
    assert trainer.close() == "killed by SIGKILL"


def test_a_training_process_can_be_killed_at_any_moment_of_its_end(tmp_path: Path, trainers: list[Trainer]) -> None:
    assert fork_server.look_for("cpu") == fork_server.Device(memory=None)
    for attempt in range(1, 31):
        trainer = Trainer(job(tmp_path, attempt=attempt, **LONG))
        trainers.append(trainer)
        while trainer._process.exitcode is None:
            trainer.kill()


@pytest.fixture(scope="module")
def like_a_fork_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WarmPython]:
    """A process that has imported what the fork server of tests imports."""
    with warm_python([*fork_server.WARM, "brief_probe"], os.environ, tmp_path_factory.mktemp("warm")) as python:
        yield python


@pytest.mark.parametrize("optimizer", ["rmsprop", "adam", "toronto_adam"])
def test_a_forked_process_has_its_code_loaded_and_not_torchs_compiler(
    like_a_fork_server: WarmPython, tmp_path: Path, optimizer: str
) -> None:
    """Each process imports the code that the fork server did not import. No process makes the slow imports."""
    training = {"max_steps": 2, "optimizer": {"name": optimizer}}
    code = f"""
import json, sys
before = set(sys.modules)
from pathlib import Path
from normcore.run import run
from normcore.spec import resolve
spec = resolve({{"task": {{"name": "permuted_digits", "profile": "smoke"}}, "training": {training}}})
options = {{"device": "cpu", "datasets_dir": Path("."), "threads": 1}}
for event in run(spec, 0, **options):
    if type(event).__name__ == "Stepped":
        checkpoint = event.checkpoint()
list(run(spec, 0, **options, checkpoint=checkpoint))
print(json.dumps([[*before], [*sys.modules]]))
"""
    before, after = (set(names) for names in json.loads(like_a_fork_server.run(tmp_path, "-c", code)))
    slow = {name for name in after - before if name.partition(".")[0] in ("torch", "scipy", "sklearn", "service")}
    assert len(slow) < 5, sorted(slow)
    assert not {name for name in after - before if name.startswith("normcore.")}
    assert not {"torch._dynamo", "torch._inductor", "sympy"} & after
