"""Comparisons over HTTP."""

from typing import Annotated

from fastapi import Query, Response

from service.comparisons import examples, queries
from service.comparisons.columns import FILE_EXAMPLE, FILE_ROW, comparison_table
from service.comparisons.schemas import COMPARISON, Comparison
from service.errors import NotFound
from service.experiments.examples import FINGERPRINT
from service.experiments.parameters import Beginning
from service.http.openapi import answers, refusals
from service.http.parts import DatabaseDep
from service.http.routing import Router
from service.http.tables import WantedFormat, also_as_file, as_file, json_answer

MOST = 12  # entries, of which a picture can be told apart
router = Router(prefix="/v1/comparisons", tags=["comparisons"])


@router.get(
    "",
    response_model=Comparison,
    responses=also_as_file(answers(examples.COMPARISON), FILE_ROW, FILE_EXAMPLE) | refusals(NotFound),
)
def get_comparison(
    db: DatabaseDep,
    format: WantedFormat,
    fingerprint: Annotated[
        list[Beginning],
        Query(
            min_length=2,
            max_length=MOST,
            description="The entries' fingerprints, or their first 8 or more characters; give it several times.",
            examples=[[FINGERPRINT[:12], examples.OTHER[:12]]],
        ),
    ],
    baseline: Annotated[
        Beginning | None,
        Query(
            description="The fingerprint of the one that others are compared with; that without normalization if"
            " omitted, else the first.",
            examples=[examples.OTHER[:12]],
        ),
    ] = None,
    series: Annotated[
        str | None,
        Query(
            max_length=64,
            description="Whose curves; that of the metric that ranks, on validation data, if omitted.",
            examples=["valid.accuracy"],
        ),
    ] = None,
) -> Response:
    """Entries of one board side by side: curves with bands, differences, speed-ups and what they are made of."""
    with db.snapshot() as session:
        found = queries.comparison(session, fingerprint, baseline, series)
    if format == "json":
        return json_answer(COMPARISON.dump_json(found))
    return as_file(comparison_table(found), format)
