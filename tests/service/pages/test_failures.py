"""Words for runs that failed or diverged."""

from typing import Any

import pytest

from normcore.spec import resolve
from service.experiments import examples
from service.pages.failures import advise_on_divergence, explain_error, group_errors, has_more
from tests.service.sample_runs import written


@pytest.mark.parametrize(
    ("error", "cause", "advice"),
    [
        (
            "out of memory: its worker gives it 2 GB",
            "it ran out of memory: its worker gives it 2 GB",
            "Take a smaller batch",
        ),
        (
            "lost 5 times without a new checkpoint: worker a ended; no progress for 30 s",
            "it broke off 5 times without a new checkpoint; the last time, no progress for 30 s",
            "Check the memory limits",
        ),
        ("torch.OutOfThings: 3: 4", "the training raised torch.OutOfThings: 3: 4", "The log has the traceback."),
        ("no such kernel", "no such kernel", "Read the log."),
        ("", "its error is not known", "Read the log."),
        (None, "its error is not known", "Read the log."),
    ],
)
def test_an_error_is_explained_with_what_to_do(error: str | None, cause: str, advice: str) -> None:
    found = explain_error(error)
    assert found.cause == cause
    assert found.advice.startswith(advice)


def test_a_long_error_is_cut_and_the_page_shows_the_whole() -> None:
    assert len(explain_error("ValueError: " + "x" * 1000).cause) < 400
    assert [has_more(error) for error in ("x" * 1000, "a\nb", "a\n", None)] == [True, True, False, False]


@pytest.mark.parametrize(
    ("optimizer", "advice"),
    [
        ({}, "Most often the learning rate is too large; it is 0.002, try 0.0002."),
        ({"lr": 0.2}, "Its learning rate 0.2 is 100 times the profile's 0.002; try 0.02."),
        ({"lr": 1e-4}, "Most often the learning rate is too large; it is 0.0001, try 1e-05."),
    ],
)
def test_a_divergence_is_followed_by_a_smaller_learning_rate(optimizer: dict[str, Any], advice: str) -> None:
    spec = resolve(written(training={"optimizer": {"name": "rmsprop", **optimizer}})).model_dump(mode="json")
    assert advise_on_divergence(spec) == advice


def test_a_spec_that_cannot_be_read_gets_general_advice() -> None:
    assert advise_on_divergence({"task": {}}) == "Most often the learning rate is too large; try a tenth of it."


def test_equal_errors_are_one_group_and_the_largest_comes_first() -> None:
    errors = ["a", "b", None, "b"]
    runs = [examples.RUN.model_copy(update={"seed": seed, "error": error}) for seed, error in enumerate(errors)]
    assert [(error, [run.seed for run in group]) for error, group in group_errors(runs)] == [("b", [1, 3]), ("a", [0])]
