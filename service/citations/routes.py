"""Citations over HTTP."""

from typing import Annotated

from fastapi import Path

from normcore.bibliography import software, works_of
from normcore.spec.methods import METHODS
from service.citations import queries
from service.citations.bibtex import bibtex
from service.citations.schemas import Citation
from service.errors import NotFound
from service.http.dependencies import DatabaseDep
from service.http.openapi import answers, refusals
from service.http.routing import Router

router = Router(prefix="/v1/citations", tags=["citations"])

WORKS = [*works_of(METHODS["layer_norm"]), software("Version 0.1.0")]
EXAMPLE = Citation(name="layer_norm", kind="method", works=WORKS, notes=[], bibtex=bibtex(WORKS))


@router.get("/{name}", responses=answers(EXAMPLE) | refusals(NotFound))
def get_citation(
    name: Annotated[
        str,
        Path(description="A task, a method, a data set, or the id of an experiment.", examples=["layer_norm"]),
    ],
    db: DatabaseDep,
) -> Citation:
    """Works to cite: papers of a task or method, its data sets, and this software. For an experiment: of its task, its
    method and its data, with the version that trained it. `bibtex` has all of them as a BibTeX file.
    """
    with db.snapshot() as session:
        return queries.citation(session, name)
