"""Table of a report card: a row for each finding, and the tables for papers."""

from functools import partial

from normcore.events import Finding
from service.http.tables import ExportColumn, ExportTable
from service.report_cards.paper import report_card_on_paper
from service.report_cards.schemas import MeasuredOut, ReportCard

FILE_ROW = "A row for each finding of an analysis; the tables of boards have the standings."
FILE_EXAMPLE = (
    '"method","analysis","cell","run_id","finding","value"\n"layer_norm","step_cost","lstm","run_…","ratio",1.46\n'
)

Row = tuple[str, str | None, MeasuredOut, Finding]  # analysis, cell, measurement, finding


def report_card_table(card: ReportCard) -> ExportTable:
    """Table of a card's findings."""
    return ExportTable(
        f"report-card-{card.method}",
        (
            ExportColumn("method", "text", lambda _: card.method),
            ExportColumn("analysis", "text", lambda row: row[0]),
            ExportColumn("cell", "text", lambda row: row[1]),
            ExportColumn("run_id", "text", lambda row: row[2].run_id),
            ExportColumn("experiment_id", "text", lambda row: row[2].experiment_id),
            ExportColumn("device", "text", lambda row: row[2].device),
            ExportColumn("finding", "text", lambda row: row[3].name),
            ExportColumn("value", "number", lambda row: row[3].value),
            ExportColumn("meaning", "text", lambda row: row[3].meaning),
            ExportColumn("verdict", "text", lambda row: row[3].verdict),
            ExportColumn("claim", "text", lambda row: row[3].claim),
            ExportColumn("holds", "truth", lambda row: row[3].holds),
            ExportColumn("source", "text", lambda row: row[3].source),
            ExportColumn("parameters", "json", lambda row: dict(row[3].parameters)),
        ),
        _rows(card),
        partial(report_card_on_paper, card),
    )


def _rows(card: ReportCard) -> list[Row]:
    measured: list[tuple[str, str | None, MeasuredOut | None]] = [("invariances", None, card.invariances)]
    for cell, found in card.cells.items():
        measured += [
            ("gradient_flow", cell, found.gradient_flow),
            ("step_cost", cell, found.step_cost),
            ("smallest_batch", cell, found.smallest_batch),
        ]
    return [(analysis, cell, one, finding) for analysis, cell, one in measured if one for finding in one.findings]
