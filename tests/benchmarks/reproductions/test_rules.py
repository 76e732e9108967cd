"""Rules that learn nothing."""

import pytest

from benchmarks.reproductions.rules import RULES, cannot, wrong
from normcore.data.questions import Question

QUESTIONS = [
    Question([["@entity1", "saw", "@entity0"], ["@entity1", "left"]], ["@placeholder", "saw", "@entity1"], "@entity0"),
    Question([["@entity2", "and", "@entity3", "met"]], ["then", "@placeholder", "left"], "@entity2"),
    Question([["nobody", "came"]], ["@placeholder", "left"], "@entity4"),
]


@pytest.mark.parametrize(("rule", "errors"), zip(RULES, (2 / 3, 1 / 3), strict=True))
def test_a_rule_is_wrong_where_it_names_another_or_none(rule: str, errors: float) -> None:
    assert wrong(QUESTIONS, RULES[rule]) == pytest.approx(errors)


def test_a_question_cannot_be_answered_whose_answer_was_left_out() -> None:
    assert cannot(QUESTIONS) == pytest.approx(1 / 3)
