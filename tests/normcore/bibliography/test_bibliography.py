"""Each citation of ours names works with known bibliographic data, and each known work is cited."""

import re

import pytest

from normcore.bibliography import Work, family_name, works, works_in, works_of
from normcore.data.datasets import DATASETS
from normcore.papers import papers
from normcore.spec import TASKS
from normcore.spec.methods import METHODS
from normcore.spec.methods.layer_norm import LayerNorm

CITATIONS = [
    *(kind.citation for kind in METHODS.values() if kind.__module__.startswith("normcore.")),
    *(kind.citation for kind in TASKS.values() if kind.__module__.startswith("normcore.")),
    *(dataset.citation for dataset in DATASETS.values()),
]
OURS = "normbench"


@pytest.mark.parametrize("citation", dict.fromkeys(CITATIONS))
def test_each_work_that_a_citation_names_is_known(citation: str) -> None:
    found = works_in(citation)
    assert {work.arxiv for work in found} - {None} == set(re.findall(r"arXiv:([\d.]+\d)", citation))
    years = set(re.findall(r"\b(?:19|20)\d\d\b", re.sub(r"arXiv:[\d.]+|of March 2006", "", citation)))
    assert years == {str(work.year) for work in found} - {"None"}
    assert found or citation == OURS
    for work in found:
        assert work.organization or family_name(work.authors[0]) in citation


def test_each_known_work_is_cited_and_known_once() -> None:
    assert set(works()) == {work for citation in CITATIONS for work in works_in(citation)}
    titles = [work.title for work in works()]
    assert len(titles) == len(set(titles))
    numbers = [work.arxiv for work in works() if work.arxiv]
    assert len(numbers) == len(set(numbers))


def test_each_work_has_an_author() -> None:
    assert all(bool(work.authors) != bool(work.organization) for work in works())


def test_papers_with_numbers_on_boards_are_works() -> None:
    assert {paper.arxiv for paper in papers()} <= {work.arxiv for work in works()}


def test_works_stand_in_the_order_of_the_citation() -> None:
    found = works_in("Hochreiter and Schmidhuber 1997; Ioffe 2017, arXiv:1702.03275; Mikolov et al. 2012")
    assert [work.year for work in found] == [1997, 2017, 2012]
    assert works_in("Mikolov et al. 2013") == (), "a work at arXiv is named by its number"
    assert works_in("an example of somebody") == ()


def test_a_class_of_another_package_names_its_own_works() -> None:
    own = Work(title="A Norm", authors=("Ada Lovelace",), year=1843)

    class OwnNorm(LayerNorm):
        works = (own,)

    assert works_of(OwnNorm) == (own,)
    assert works_of(LayerNorm) != (own,)
