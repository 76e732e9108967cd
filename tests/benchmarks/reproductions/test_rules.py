"""Rules that answer questions without learning."""

import pytest

from benchmarks.reproductions.rules import RULES, cannot, wrong
from normcore.data.questions import Question

QUESTIONS = [
    Question([["@entity1", "saw", "@entity0"], ["@entity1", "left"]], ["@placeholder", "saw", "@entity1"], "@entity0"),
    Question([["@entity2", "and", "@entity3", "met"]], ["then", "@placeholder", "left"], "@entity2"),
    Question([["nobody", "came"]], ["@placeholder", "left"], "@entity4"),
]


@pytest.mark.parametrize(("rule", "errors"), list(zip(RULES, (2 / 3, 1 / 3), strict=True)))
def test_a_rule_that_names_another_answer_or_no_answer_is_wrong(rule: str, errors: float) -> None:
    assert wrong(QUESTIONS, RULES[rule]) == pytest.approx(errors)


def test_a_question_whose_answer_was_left_out_cannot_be_answered() -> None:
    assert cannot(QUESTIONS) == pytest.approx(1 / 3)
