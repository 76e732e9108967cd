"""Answer types of citations."""

from typing import Literal

from pydantic import BaseModel, Field

from normcore.spec.work import Work

CitedKind = Literal["task", "method", "data set", "experiment"]


class Citation(BaseModel):
    """Works to cite for a task, a method, a data set or an experiment; this software is the last of them."""

    name: str
    kind: CitedKind
    works: list[Work]
    notes: list[str] = Field(description="What has no work to cite, and why.")
    bibtex: str = Field(description="The works as a BibTeX file, with the notes as comments.")
