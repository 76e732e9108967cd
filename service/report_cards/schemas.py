"""Answer types of report cards."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, Field

from normcore.events import Finding
from service.http.schemas import WrittenSpec
from service.leaderboards.schemas import Problem


class MeasuredOut(BaseModel):
    """The newest analysis of a kind, and the run that it comes from."""

    run_id: str
    experiment_id: str
    device: str | None
    finished_at: datetime | None
    findings: list[Finding]


class CellOut(BaseModel):
    """Measurements of the method in one recurrent cell; null for a measurement that is missing."""

    gradient_flow: MeasuredOut | None
    step_cost: MeasuredOut | None
    smallest_batch: MeasuredOut | None


class StandingOut(BaseModel):
    """Standing of the method's best entry on a leaderboard, among the best entries of all methods (by validation)."""

    task: str
    profile: str
    problem: Problem
    rank: int | None = Field(
        description="The entry's rank on the board; null if it is over the budget, or if all of its runs diverged."
    )
    shared_rank: int | None = Field(description="The first rank of the tie group, which all of its entries share.")
    tied_with: list[str] = Field(description="Names of the other entries of the tie group: no difference is shown.")
    rank_ci: tuple[int, int] | None = Field(
        description="Lowest and highest rank that the entry may truly have, 95% for all entries of the board at once."
    )
    of: int = Field(description="Number of methods with an entry within the budget.")
    metric: str
    unit: str
    direction: Literal["maximize", "minimize"]
    mean: float | None
    ci95: tuple[float, float] | None
    n_seeds: int
    n_diverged: int = Field(description="Seeds that diverged.")
    too_few_seeds: bool = Field(description="Whether the entry has too few seeds for a rank; ``rank`` is by its score.")
    fingerprint: str
    name: str = Field(description="The entry's name: the method, and the options that differ from the profile.")


class ReportCard(BaseModel):
    """Report card of a method: results of every analysis and task that this service has.

    Attributes:
        cells: analyses in each recurrent cell, by the cell's name; empty for a method of layers.
        not_applicable: reason why an analysis does not take the method, by the analysis's name.
        missing: specs of the analyses that were not run yet; submit them to complete the card.
        pending: ids of the experiments that are queued or running, and will add to the card.
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
