"""Works that a citation names: papers, data sets and programs."""

from dataclasses import dataclass
from typing import Annotated, ClassVar

from pydantic import ConfigDict, Field

Text = Annotated[str, Field(min_length=1)]


@dataclass(frozen=True, kw_only=True)
class Work:
    """Bibliographic data of a work. It is checked where it is read from a file.

    Attributes:
        authors: names as people write them, given names first. ``others`` as the last name stands for further authors.
        organization: the author, if it is not a person.
        year: None if the work has no year of its own.
        arxiv: number at arXiv, such as ``1607.06450``.
        journal, volume, number, pages: place of an article.
        booktitle: proceedings with the paper.
        note: what else a reader must know, such as a version.
    """

    __pydantic_config__: ClassVar[ConfigDict] = ConfigDict(extra="forbid", strict=True)

    title: Text
    authors: Annotated[tuple[Text, ...], Field(strict=False)] = ()
    organization: Text | None = None
    year: int | None
    arxiv: Annotated[str, Field(pattern=r"^\d{4}\.\d{4,5}$")] | None = None
    journal: Text | None = None
    volume: Text | None = None
    number: Text | None = None
    pages: Text | None = None
    booktitle: Text | None = None
    doi: Text | None = None
    url: Annotated[str, Field(pattern=r"^https?://\S+$")] | None = None
    note: Text | None = None
