"""Questions with a blank, made from a novel: a sentence in which a name is left out, and the sentences before it.

The questions have the form of the CNN questions: names become markers. The markers' numbers are drawn anew for each
question, so that a number says nothing about who is named first. Questions are short and have few names, so that a
small network learns to answer them within minutes.
"""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

BEFORE = 6  # sentences before the question: its text
OFTEN = 5  # times that a name must stand within sentences, at least
SHORTEST, LONGEST = 6, 40  # words of a question
LONGEST_TEXT = 120  # words of the sentences before a question
MARKERS = 5  # different names in a question and its text together, at most
TITLES = frozenset(
    {"I", "Mr", "Mrs", "Miss", "Ms", "Dr", "Sir", "Lady", "Lord", "Madame", "Madam", "Mademoiselle", "Monsieur"}
    | {"Captain", "Colonel", "Major", "General", "Count", "Countess", "Prince", "Princess"}
    | {"God", "O", "Oh", "Chapter"}
)


class Cloze(NamedTuple):
    """Cloze question: a text in sentences, a question with one blank, and the marker that fills the blank."""

    passage: Sequence[Sequence[str]]
    question: Sequence[str]
    answer: str


def names(sentences: Sequence[Sequence[str]]) -> frozenset[str]:
    """Find names: words with a capital letter at least ``OFTEN`` times within sentences, and never in lower case.

    ``TITLES`` are not names.
    """
    capital: Counter[str] = Counter()
    small: set[str] = set()
    for sentence in sentences:
        begins = True
        for word in sentence:
            if not word[0].isalpha():
                begins = begins or word in ('"', "'", ".", "!", "?", ":", "(", "-")
                continue
            if word[0].islower():
                small.add(word)
            elif not begins and not word.isupper():
                capital[word] += 1
            begins = False
    return frozenset(
        word for word, count in capital.items() if count >= OFTEN and word.lower() not in small and word not in TITLES
    )


def clozes(sentences: Sequence[Sequence[str]]) -> Iterator[Cloze]:
    """Make a question of each sentence that repeats a name from the ``BEFORE`` sentences before it.

    The last such name of the sentence becomes the blank.
    """
    known, generator = names(sentences), random.Random(0)
    for k in range(BEFORE, len(sentences)):
        before, asked = sentences[k - BEFORE : k], sentences[k]
        if not SHORTEST <= len(asked) <= LONGEST or sum(map(len, before)) > LONGEST_TEXT:
            continue
        named = dict.fromkeys(word for sentence in before for word in sentence if word in known)
        answer = next((word for word in reversed(asked) if word in named), None)
        if answer is None or len(named) < 2:
            continue
        for word in asked:
            if word in known:
                named.setdefault(word)
        if len(named) > MARKERS:
            continue
        numbers = generator.sample(range(MARKERS), len(named))
        marker = {word: f"@entity{number}" for word, number in zip(named, numbers, strict=True)}
        question = ["@placeholder" if word == answer else marker.get(word, word.lower()) for word in asked]
        passage = [[marker.get(word, word.lower()) for word in sentence] for sentence in before]
        yield Cloze(passage, question, marker[answer])
