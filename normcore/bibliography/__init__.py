"""Bibliographic data of the works that citations of methods, tasks, analyses and data sets name. Imports no torch.

A citation is a short text, such as "Ioffe 2017, arXiv:1702.03275, Algorithm 1". It names a work by its number at
arXiv, or by authors and year. Works with numbers on our boards are in ``normcore/papers/``, all others in
``works.yaml``. A class of another package may name its works itself, in ``works``.

To cite another work, add an entry to ``works.yaml``.
"""

import re
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from importlib.resources import files

from pydantic import TypeAdapter

from normcore.papers import papers
from normcore.spec.files import load_yaml
from normcore.spec.methods.method import Method
from normcore.spec.task import Task
from normcore.spec.work import Work

__all__ = ["SOFTWARE", "Work", "family_name", "software", "works", "works_in", "works_of"]

SOFTWARE = Work(
    title="normbench: a distributed benchmark service for normalization in recurrent networks",
    organization="normbench authors",
    year=2026,
)
"""This software, without its version. ``CITATION.cff`` says the same."""
ARXIV = re.compile(r"arXiv:(\d{4}\.\d{4,5})")


def software(note: str | None = None) -> Work:
    """Work of this software.

    Args:
        note: the version; the installed one if None.
    """
    told = note or f"Version {version('normbench')}"
    return Work(title=SOFTWARE.title, organization=SOFTWARE.organization, year=SOFTWARE.year, note=told)


def works_of(kind: type[Method] | type[Task]) -> tuple[Work, ...]:
    """Works of a method or task: those that the class names in ``works``, or else those of its citation."""
    return kind.works or works_in(kind.citation)


def works_in(citation: str) -> tuple[Work, ...]:
    """Works that a citation names, in the order of the text."""
    found = [(at, work) for work in works() if (at := _place(work, citation)) is not None]
    return tuple(work for _, work in sorted(found, key=lambda pair: pair[0]))


@cache
def works() -> tuple[Work, ...]:
    """Read all works: papers with numbers on our boards, then all others."""
    with_numbers = (
        Work(title=paper.title, authors=paper.authors, year=paper.year, arxiv=paper.arxiv, booktitle=paper.booktitle)
        for paper in papers()
    )
    text = files(__name__).joinpath("works.yaml").read_text(encoding="utf-8")
    return *with_numbers, *TypeAdapter(tuple[Work, ...]).validate_python(load_yaml(text), strict=False)


def family_name(author: str) -> str:
    """Last word of an author's name."""
    return author.split()[-1]


def _place(work: Work, citation: str) -> int | None:
    """Index in the citation at which it names the work; None if it does not."""
    numbers = {found[1]: found.start() for found in ARXIV.finditer(citation)}
    if work.arxiv is not None:
        return numbers.get(work.arxiv)
    return next((at for form in _short_forms(work) if (at := citation.find(form)) >= 0), None)


def _short_forms(work: Work) -> Iterator[str]:
    """Texts that name a work without a number at arXiv: its authors and its year, or its organization."""
    if work.organization is not None:
        yield work.organization
        return
    names, year = [family_name(author) for author in work.authors], "" if work.year is None else f" {work.year}"
    if len(names) > 2:
        yield f"{names[0]} et al.{year}"
    for last in (", ", " and "):
        yield last.join(filter(None, (", ".join(names[:-1]), names[-1]))) + year
