"""Answer types of report cards."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

from normcore.events import Finding
from service.http.openapi import WrittenSpec
from service.leaderboards.schemas import Problem


class MeasuredOut(BaseModel):
    """The newest analysis of a kind, and the run that it comes from."""

    run_id: str
    experiment_id: str
    device: str | None
    finished_at: datetime | None
    findings: list[Finding]


class CellOut(BaseModel):
    """Measurements of the method in one recurrent cell; null for those that are missing."""

    gradient_flow: MeasuredOut | None
    step_cost: MeasuredOut | None
    smallest_batch: MeasuredOut | None


class StandingOut(BaseModel):
    """The method's best entry on one leaderboard, chosen by validation, beside those of other methods."""

    task: str
    profile: str
    problem: Problem
    rank: int | None = Field(
        description="The board's own; null if the entry is over the budget, and if all of its runs diverged."
    )
    shared_rank: int | None = Field(description="The first rank of its tie group, which all of the group share.")
    tied_with: list[str] = Field(description="Names of the others of its tie group: no difference from them is shown.")
    rank_ci: tuple[int, int] | None = Field(description="The ranks that it may truly have, 95% for all of the board.")
    of: int = Field(description="Methods that have such an entry.")
    metric: str
    unit: str
    direction: Literal["maximize", "minimize"]
    mean: float | None
    ci95: tuple[float, float] | None
    n_seeds: int
    n_diverged: int = Field(description="Seeds that diverged.")
    fingerprint: str
    name: str = Field(description="The entry's name: the method with what differs from the profile.")


class ReportCard(BaseModel):
    """All that is known of a method.

    Attributes:
        cells: by the name of the cell; empty for a method of layers.
        not_applicable: why an analysis does not take the method, by the analysis.
        missing: specs to submit, whose results would complete the card.
        pending: experiments that are under way and will do so.
    """

    method: str
    title: str
    citation: str
    invariances: MeasuredOut | None
    cells: dict[str, CellOut]
    standings: list[StandingOut]
    not_applicable: dict[str, str]
    missing: list[WrittenSpec]
    pending: list[str]
