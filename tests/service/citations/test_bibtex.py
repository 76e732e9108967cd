"""BibTeX that every LaTeX reads: each key once, special characters escaped, accents as commands."""

import pytest

from normcore.bibliography import Work, works
from service.citations.bibtex import bibtex, escape, keys

ADA = Work(title="Notes", authors=("Ada Lovelace",), year=1843)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("Çağlar Gülçehre", r"{\c{C}}a{\u{g}}lar G{\"{u}}l{\c{c}}ehre"),
        ("100 % of A_1 & B#2 cost {$3}", r"100 \% of A\_1 \& B\#2 cost \{\$3\}"),
        ("a\\b^c~d@e", r"a\textbackslash{}b\textasciicircum{}c\textasciitilde{}d{\char64}e"),
        ("2–3 “words”\n twice", "2--3 ``words'' twice"),
        ("Ørsted", r"{\O}rsted"),
        ("李", "李"),
    ],
)
def test_text_is_written_as_latex_sets_it(text: str, written: str) -> None:
    assert escape(text) == written


def test_each_key_is_given_once() -> None:
    later = Work(title="The Notes, again", authors=("A. Lovelace",), year=1843)
    assert keys([ADA, later, works()[0]]) == ["lovelace1843notes", "lovelace1843notes-2", "ba2016layer"]


def test_an_entry_has_the_fields_of_its_kind() -> None:
    article = Work(
        title="LSTM", authors=("S. H.", "J. S."), year=1997, journal="NC", volume="9", number="8", pages="1735-1780"
    )
    assert bibtex([article]) == (
        "@article{h1997lstm,\n  title = {{LSTM}},\n  author = {S. H. and J. S.},\n  year = {1997},\n"
        "  journal = {NC},\n  volume = {9},\n  number = {8},\n  pages = {1735--1780},\n}\n"
    )
    organization = Work(title="A tale", organization="B and C", year=None, url="https://example.org/a_b")
    assert bibtex([organization]) == (
        "@misc{bandctale,\n  title = {{A tale}},\n  author = {{B and C}},\n  url = {https://example.org/a_b},\n}\n"
    )


def test_notes_are_comments_that_begin_no_entry() -> None:
    assert bibtex([ADA], ["no work of\n@misc{x}"]).startswith("% no work of at misc{x}\n\n@misc{lovelace")
