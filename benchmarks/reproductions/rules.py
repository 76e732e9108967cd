"""Error rates on the novels of rules that learn nothing: ``python -m benchmarks.reproductions.rules``."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from benchmarks.reproductions.markdown import number, table
from normcore.data import questions
from normcore.data.questions import ENTITY, Question
from service.settings import Settings

Rule = Callable[[Question], str | None]


def named(question: Question) -> list[str]:
    """The names in what is left of the text, in their order."""
    return [word for sentence in question.passage for word in sentence if ENTITY.fullmatch(word)]


def most_frequent(question: Question) -> str | None:
    """The first of those that are named most often."""
    return max(named(question), key=Counter(named(question)).__getitem__, default=None)


def first_new(question: Question) -> str | None:
    """The first name that the question does not have itself."""
    return next((name for name in named(question) if name not in question.question), None)


RULES: Mapping[str, Rule] = {
    "the name that the text has most often": most_frequent,
    "the first name of the text that the question does not have": first_new,
}


def wrong(part: Sequence[Question], rule: Rule) -> float:
    """The rule's error rate."""
    return sum(rule(question) != question.answer for question in part) / len(part)


def cannot(part: Sequence[Question]) -> float:
    """The share of questions whose answer is not in what is left of the text."""
    return 1 - sum(question.can_be_answered for question in part) / len(part)


def rules(datasets_dir: Path | None) -> str:
    """A table of the rules' error rates, and of the questions that cannot be answered.

    Raises:
        DatasetMissing, DatasetCorrupt: the novels are not at hand.
    """
    found = questions.load("gutenberg_books", datasets_dir)
    parts = (found.valid, found.test)
    rows = [(name, *(number(wrong(part, rule)) for part in parts)) for name, rule in RULES.items()]
    floor = ("none can: the answer was left out", *(number(cannot(part)) for part in parts))
    return table([("rule", "validation", "test"), *rows, floor])


if __name__ == "__main__":
    print(rules(Settings().datasets_dir))
