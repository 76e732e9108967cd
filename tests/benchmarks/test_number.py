"""Exit status of ``python -m benchmarks``: an error for a broken promise, and for nothing else."""

import pytest

from benchmarks.number import Number, Target, promises_kept

NONE_AT_ALL = Target("ours", "at most", 0)


@pytest.mark.parametrize(
    ("number", "kept"),
    [
        (Number("lost", "", 0, target=NONE_AT_ALL, is_promise=True), True),
        (Number("lost", "", 1, target=NONE_AT_ALL, is_promise=True), False),
        (Number("slow", "s", 1, target=NONE_AT_ALL), True),
        (Number("beside", "s", 1, target=Target("ratio", "at most", 1), is_promise=True), True),
    ],
)
def test_only_a_broken_promise_is_an_error(number: Number, kept: bool) -> None:
    assert promises_kept([Number("other", "", 1), number]) is kept
