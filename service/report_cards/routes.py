"""Report cards over HTTP."""

from typing import Annotated

from fastapi import Path

from normcore.spec.methods import METHODS
from service.errors import NotFound
from service.http.openapi import answers, refusals
from service.http.parts import DatabaseDep
from service.http.routing import Router, check_found
from service.report_cards import examples, queries
from service.report_cards.schemas import ReportCard

router = Router(prefix="/v1/methods", tags=["report cards"])


@router.get("/{name}/report-card", responses=answers(examples.REPORT_CARD) | refusals(NotFound))
def get_report_card(
    name: Annotated[str, Path(description="The method's name.", examples=["layer_norm"])], db: DatabaseDep
) -> ReportCard:
    """What has been measured of a method: invariances, gradient flow, cost of a training step, the smallest batch it
    trains at, its standing on each leaderboard. What has not been yet is listed under `missing`, ready to submit."""
    check_found("method", name, METHODS)
    with db.snapshot() as session:
        return queries.report_card(session, name)
