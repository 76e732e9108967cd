"""A training's outputs: which names they may have, and which are kept."""

from collections.abc import Callable
from pathlib import Path

import pytest

from normcore.events import Finished
from service.artifacts import Artifacts
from tests.service.sample_runs import result_of, timing_of
from workers import outputs

CHECKPOINT = "checkpoint-000000000001.pt"
OF_EVERY_ATTEMPT = ("log.txt", "environment.json", CHECKPOINT)
OUTPUTS = ("model.pt", "sample.txt", "figures/confusion_matrix.json", "figures/curves.json")


def finished(*names: str) -> Finished:
    def content_of(name: str) -> Callable[[], bytes]:
        return name.encode

    return Finished(
        "completed", result_of(), timing_of(), lambda: b"weights", {name: content_of(name) for name in names}
    )


def stored(store: Artifacts) -> list[tuple[int, str]]:
    return [(artifact.attempt, artifact.name) for artifact in store.list("run_1")]


@pytest.fixture
def store(tmp_path: Path) -> Artifacts:
    """Two attempts have written all that an attempt can write."""
    store = Artifacts(str(tmp_path))
    for attempt in (1, 2):
        for name in (*OF_EVERY_ATTEMPT, *OUTPUTS):
            store.write("run_1", attempt, name, b"content")
    return store


def test_outputs_are_the_model_and_the_tasks_artifacts() -> None:
    contents = {name: content_of() for name, content_of in outputs.of(finished("sample.txt", "figures/curve.json"))}
    assert contents == {
        "model.pt": b"weights",
        "sample.txt": b"sample.txt",
        "figures/curve.json": b"figures/curve.json",
    }


@pytest.mark.parametrize("name", ["a-b_c.1.json", "figures/a.json", "A", "9.txt"])
def test_names_of_letters_digits_and_a_few_signs_are_accepted(name: str) -> None:
    assert name in dict(outputs.of(finished(name)))


@pytest.mark.parametrize(
    "name",
    ["", "a b", "ä.txt", "../a", "figures/../a", "figures/a/b", "figures/", "figures", "other/a", "/a", ".a", "a\n"],
)
def test_invalid_names_are_refused_and_nothing_is_stored(name: str) -> None:
    with pytest.raises(ValueError, match="use letters, digits"):
        next(outputs.of(finished("good.txt", name)))


@pytest.mark.parametrize("name", ["model.pt", "log.txt", "environment.json", "figures/curves.json", CHECKPOINT])
def test_a_task_may_not_use_the_names_of_the_runs_own_files(name: str) -> None:
    with pytest.raises(ValueError, match="no name of the run's own files"):
        next(outputs.of(finished(name)))


def test_a_succeeded_run_keeps_only_outputs_of_its_attempt_and_no_checkpoints(store: Artifacts) -> None:
    outputs.settle(store, "run_1", 2)
    assert stored(store) == sorted(
        [(1, "log.txt"), (1, "environment.json"), (2, "log.txt"), (2, "environment.json"), *((2, n) for n in OUTPUTS)]
    )


def test_an_overtaken_attempt_keeps_no_outputs(store: Artifacts) -> None:
    outputs.discard(store, "run_1", 1)
    assert stored(store) == sorted(
        [*((1, name) for name in OF_EVERY_ATTEMPT), *((2, name) for name in (*OF_EVERY_ATTEMPT, *OUTPUTS))]
    )
