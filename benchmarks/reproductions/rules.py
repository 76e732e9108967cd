"""Error rates of simple rules, which learn nothing, on the novels: ``python -m benchmarks.reproductions.rules``."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benchmarks.reproductions.markdown import number, table
from normcore.data import questions
from normcore.data.questions import ENTITY, Question
from service.settings import Settings

Rule = Callable[[Question], str | None]


def named(question: Question) -> list[str]:
    """Names in the passage of a question, in their order."""
    return [word for sentence in question.passage for word in sentence if ENTITY.fullmatch(word)]


def most_frequent(question: Question) -> str | None:
    """Name that the passage has most often; the first one of several."""
    return max(named(question), key=Counter(named(question)).__getitem__, default=None)


def first_new(question: Question) -> str | None:
    """First name of the passage that the question does not have."""
    return next((name for name in named(question) if name not in question.question), None)


RULES: Mapping[str, Rule] = {
    "the name that the text has most often": most_frequent,
    "the first name of the text that the question does not have": first_new,
}


def wrong(part: Sequence[Question], rule: Rule) -> float:
    """Error rate of a rule."""
    return sum(rule(question) != question.answer for question in part) / len(part)


def cannot(part: Sequence[Question]) -> float:
    """Share of questions that cannot be answered, as their passage does not have the answer."""
    return 1 - sum(question.can_be_answered for question in part) / len(part)


def rules(datasets_dir: Path | None) -> str:
    """Table of the error rates of all rules, and of the share of questions that cannot be answered.

    Raises:
        DatasetMissing, DatasetCorrupt: the novels are not on this machine.
    """
    found = questions.load("gutenberg_books", datasets_dir)
    parts = (found.valid, found.test)
    rows = [(name, *(number(wrong(part, rule)) for part in parts)) for name, rule in RULES.items()]
    floor = ("none can: the answer was left out", *(number(cannot(part)) for part in parts))
    return table([("rule", "validation", "test"), *rows, floor])


if __name__ == "__main__":
    print(rules(Settings().datasets_dir))
