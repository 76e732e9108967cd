"""Target of a profile."""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import cast

import pytest
import torch

from normcore import tasks
from normcore.data import books, questions, triples
from normcore.spec import TrainingSpec, resolve
from normcore.spec.tasks import BENCHMARKS
from normcore.tasks.task import Resources


@pytest.fixture(scope="module")
def books_are_read_once() -> Iterator[None]:
    """Cache the books, which two tasks read: reading them takes two seconds."""
    with pytest.MonkeyPatch.context() as patch:
        once = cache(books.books)
        for module in (questions, triples):
            patch.setattr(module, "books", once)
        yield


@pytest.mark.usefixtures("books_are_read_once")
@pytest.mark.parametrize("name", list(BENCHMARKS))
def test_target_of_the_small_profile_is_better_than_no_skill(name: str, datasets_dir: Path) -> None:
    spec = cast(TrainingSpec, resolve({"task": {"name": name, "profile": "small"}, "norm": {"method": "none"}}))
    task = tasks.build(spec.task, Resources(datasets_dir, torch.device("cpu"), torch.float32))
    assert task.no_skill is not None
    assert spec.training.target is not None
    assert spec.task.metric().is_better(spec.training.target, than=task.no_skill)
