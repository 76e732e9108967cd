"""Questions with a blank are made of sentences with names."""

from normcore.data.cloze import BEFORE, OFTEN, clozes, names


def told(*sentences: str) -> list[list[str]]:
    return [sentence.split() for sentence in sentences]


def test_names_are_often_capital_within_sentences_and_never_small() -> None:
    text = told(*["He saw Ada there ."] * OFTEN, *["The Rose and Mr Bell ."] * OFTEN, "A rose .", "Once Eve came .")
    assert names(text) == {"Ada", "Bell"}
    assert names(text[1:]) == {"Bell"}


def test_the_first_word_of_a_sentence_or_speech_tells_nothing() -> None:
    assert names(told(*['Bob said : " Tom , go .'] * OFTEN)) == frozenset()


def test_the_last_name_that_was_named_before_is_left_out() -> None:
    before = told(*["then Ada met Bob at noon ."] * (BEFORE - 1), "It rained on Bob .")
    asked = told("so Bob asked Ada about Bob and left .", "too short for Ada .", "There was nobody at all around .")
    (one,) = clozes([*before, *asked])
    assert one.answer == "@entity1"
    assert " ".join(one.question) == "so @placeholder asked @entity0 about @placeholder and left ."
    assert [" ".join(sentence) for sentence in one.passage[-2:]] == [
        "then @entity0 met @entity1 at noon .",
        "it rained on @entity1 .",
    ]
    assert len(one.passage) == BEFORE


def test_a_text_that_names_one_alone_asks_nothing() -> None:
    before = told(*["then Ada came to see us ."] * BEFORE)
    assert list(clozes([*before, *told("and so Ada went on and on .")])) == []
