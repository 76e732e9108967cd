"""Tables of a report card for papers: standings, measurements in each cell, invariances."""

from collections.abc import Mapping

from service import wording
from service.leaderboards.paper import (
    describe_board,
    describe_means,
    name_metric,
    write_day,
    write_limits,
    write_seeds,
    write_value,
)
from service.paper.table import PaperCell, PaperColumn, PaperTable, RowGroup, cells
from service.report_cards.schemas import CellOut, MeasuredOut, ReportCard, StandingOut

FLOW = "gradient_norm"


def report_card_on_paper(card: ReportCard) -> list[PaperTable]:
    """Tables of a report card. Tables without content are left out, except the table of standings."""
    measured = [table for table in (_cells(card), _invariances(card)) if table.filled]
    return [_standings(card), *measured]


def _standings(card: ReportCard) -> PaperTable:
    means = describe_means([one.n_seeds for one in card.standings])
    return PaperTable(
        f"{card.method}-standings",
        f"Standing of {card.method} on each leaderboard, by its best entry (chosen by validation).{means} Entries with"
        f" the same rank tie (Holm, 5%). Bold: rank 1. normbench, {write_day()}.",
        [
            PaperColumn("Leaderboard", "left"),
            PaperColumn("Rank", "left"),
            PaperColumn("Measure", "left"),
            PaperColumn("Mean"),
            PaperColumn("95% interval"),
            PaperColumn("n"),
        ],
        [RowGroup([_standing(one) for one in card.standings])],
        f"{card.method} is on no leaderboard yet.",
    )


def _standing(one: StandingOut) -> list[PaperCell]:
    rank = wording.DASH if one.shared_rank is None or one.too_few_seeds else f"{one.shared_rank} of {one.of}"
    return [
        *cells(describe_board(one.task, one.profile, one.problem), rank, name_metric(one.metric, one.unit, "test")),
        PaperCell(write_value(one.mean, one.metric), one.shared_rank == 1 and not one.too_few_seeds),
        *cells(write_limits(one.ci95, one.metric), write_seeds(one.n_seeds, one.n_diverged)),
    ]


def _cells(card: ReportCard) -> PaperTable:
    rows = [(cell, *_in_cell(found)) for cell, found in card.cells.items()]
    return PaperTable(
        f"{card.method}-cells",
        f"{card.method} in each recurrent cell: time of a training step divided by the time without normalization, with"
        f" its 95% interval; the smallest batch that still trains; whether the gradient vanishes or explodes, for each"
        f" gain. normbench, {write_day()}.",
        [
            PaperColumn("Cell", "left"),
            PaperColumn("Training step"),
            PaperColumn("95% interval"),
            PaperColumn("Smallest batch"),
            PaperColumn("Gradients", "left"),
        ],
        [RowGroup([cells(*row) for row in rows if any(text != wording.DASH for text in row[1:])])],
        "Nothing is measured yet.",
    )


def _in_cell(found: CellOut) -> list[str]:
    values = _values(found.step_cost)
    limits = (values.get("ratio.low"), values.get("ratio.high"))
    between = wording.DASH if None in limits else wording.ratio_interval(limits)
    batch = _values(found.smallest_batch).get("smallest_batch")
    smallest = wording.steps(batch) if found.smallest_batch is None or batch is not None else "none"
    return [wording.ratio(values.get("ratio")), between, smallest, _flow(found.gradient_flow)]


def _values(measured: MeasuredOut | None) -> Mapping[str, float | None]:
    return {finding.name: finding.value for finding in measured.findings} if measured else {}


def _flow(measured: MeasuredOut | None) -> str:
    """Verdicts on the gradient, each with its gains: steady at 0.1, 1; explodes at 2."""
    gains: dict[str, list[str]] = {}
    for finding in measured.findings if measured else ():
        if finding.name.startswith(FLOW) and finding.verdict is not None:
            gain = finding.parameters.get("gain")
            gains.setdefault(finding.verdict, []).extend([] if gain is None else [f"{gain:g}"])
    told = [f"{verdict} at {', '.join(of)}" if of else verdict for verdict, of in gains.items()]
    return "; ".join(told) or wording.DASH


def _invariances(card: ReportCard) -> PaperTable:
    found = card.invariances.findings if card.invariances else []
    rows = [
        (one.name.replace("_", " "), one.verdict or wording.DASH, one.claim or wording.DASH, wording.figure(one.value))
        for one in found
    ]
    return PaperTable(
        f"{card.method}-invariances",
        f"Invariances of {card.method}, as measured and as claimed ({card.citation}). normbench, {write_day()}.",
        [
            PaperColumn("Change", "left"),
            PaperColumn("Measured", "left"),
            PaperColumn("Claimed", "left"),
            PaperColumn("Deviation"),
        ],
        [RowGroup([cells(*row) for row in rows])],
        "Nothing is measured yet.",
    )
