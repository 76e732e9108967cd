"""Questions with a blank are made from sentences with names."""

from collections import Counter

import pytest

from normcore.data.cloze import BEFORE, LONGEST, LONGEST_TEXT, MARKERS, OFTEN, clozes, names


def told(*sentences: str) -> list[list[str]]:
    return [sentence.split() for sentence in sentences]


def test_names_are_words_often_capitalized_within_sentences_and_never_lower_case() -> None:
    text = told(*["He saw Ada there ."] * OFTEN, *["The Rose and Mr Bell ."] * OFTEN, "A rose .", "Once Eve came .")
    assert names(text) == {"Ada", "Bell"}
    assert names(text[1:]) == {"Bell"}


def test_first_word_of_a_sentence_or_speech_is_no_evidence_of_a_name() -> None:
    assert names(told(*['Bob said : " Tom , go .'] * OFTEN)) == frozenset()


def test_the_last_name_that_was_named_before_is_left_out() -> None:
    before = told(*["then Ada met Bob at noon ."] * (BEFORE - 1), "It rained on Bob .")
    asked = told("so Bob asked Ada about Bob and left .", "too short for Ada .", "There was nobody at all around .")
    (one,) = clozes([*before, *asked])
    bob, ada = one.answer, one.question[3]
    assert len({ada, bob} & {f"@entity{k}" for k in range(MARKERS)}) == 2
    assert " ".join(one.question) == f"so @placeholder asked {ada} about @placeholder and left ."
    assert [" ".join(sentence) for sentence in one.passage[-2:]] == [
        f"then {ada} met {bob} at noon .",
        f"it rained on {bob} .",
    ]
    assert len(one.passage) == BEFORE


def test_marker_does_not_reveal_who_is_named_first() -> None:
    text = told(*["then Ada met Bob at noon ."] * 1000)
    answers = [one.answer for one in clozes(text)]
    assert answers == [one.answer for one in clozes(text)], "the same for all who read the books"
    assert len(answers) == 1000 - BEFORE
    shares = [count / len(answers) for count in Counter(answers).values()]
    assert len(shares) == MARKERS
    assert all(abs(share - 1 / MARKERS) < 0.05 for share in shares)


@pytest.mark.parametrize(
    ("more", "asks"),
    [
        ((LONGEST - 7, 0, 0), True),
        ((LONGEST - 6, 0, 0), False),
        ((0, LONGEST_TEXT - 7 * BEFORE, 0), True),
        ((0, LONGEST_TEXT - 7 * BEFORE + 1, 0), False),
        ((0, 0, MARKERS - 2), True),
        ((0, 0, MARKERS - 1), False),
    ],
)
def test_questions_are_short_and_have_few_names(more: tuple[int, int, int], asks: bool) -> None:
    """The cases add words to the question, words to its text, and names."""
    of_question, of_text, of_names = more
    people = [f"P{'abcde'[k]}" for k in range(of_names)]
    known = told(*[f"we met {who} ." for who in people for _ in range(OFTEN)], *["all went home again ."] * BEFORE)
    before = told(*["then Ada met Bob at noon ."] * BEFORE)
    for k, who in enumerate(people):
        before[k][-3:-1] = [who, "too"]
    before[-1] += ["so"] * of_text
    asked = [*["so", "Bob", "asked", "Ada", "and", "left"], *["soon"] * of_question, "."]
    assert any("left" in one.question for one in clozes([*known, *before, asked])) == asks


def test_text_with_a_single_name_gives_no_question() -> None:
    before = told(*["then Ada came to see us ."] * BEFORE)
    assert list(clozes([*before, *told("and so Ada went on and on .")])) == []
