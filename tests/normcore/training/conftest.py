"""Fixture of tests with many short trainings."""

from collections.abc import Iterator
from functools import cache

import pytest

from normcore.data import captions, handwriting, questions, sentence_sets, triples


@pytest.fixture(scope="module")
def data_are_read_once() -> Iterator[None]:
    """Cache the papers' data, because reading them takes longer than all updates of a short training."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (captions, handwriting, questions, sentence_sets, triples):
            patch.setattr(module, "load", cache(module.load))
        yield
