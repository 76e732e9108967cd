"""Novels are cut into sentences, without the text that Project Gutenberg adds around them."""

import pytest

from normcore.data.books import sentences
from normcore.data.registry import DatasetCorrupt

BOOK = """The Project Gutenberg eBook of Nothing
*** START OF THE PROJECT GUTENBERG EBOOK NOTHING ***

CHAPTER I

Mr. Grey met J. Brown. "Who are you?" he asked; they
talked.  It was Ada's 3rd visit!

He didn't stay.

*** END OF THE PROJECT GUTENBERG EBOOK NOTHING ***
Donations are welcome.
"""


def test_sentences_are_those_of_the_book() -> None:
    assert [" ".join(words) for words in sentences(BOOK.replace("\n", "\r\n"), "nothing.txt")] == [
        "CHAPTER I",
        "Mr . Grey met J . Brown .",
        '" Who are you ? " he asked ; they talked .',
        "It was Ada 's 3 rd visit !",
        "He didn't stay .",
    ]


@pytest.mark.parametrize("line", ["*** START", "*** END"])
def test_file_without_start_and_end_marks_is_refused(line: str) -> None:
    cut = "\n".join(own for own in BOOK.splitlines() if not own.startswith(line))
    with pytest.raises(DatasetCorrupt, match=r"nothing\.txt: expected a line \*\*\* START OF TH.*; download it again"):
        sentences(cut, "nothing.txt")
