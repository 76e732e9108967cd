"""Figures of a report card, for API and pages."""

from collections.abc import Mapping

from sqlalchemy.orm import Session

from normcore.figures import Figure, Theme
from normcore.figures.gradients import Flow, gradients
from service.experiments import queries
from service.report_cards.schemas import ReportCard

GRADIENTS = "gradients"
MAX_POINTS = 200  # of a line


def names(card: ReportCard) -> list[str]:
    """Names of a card's figures: one for each cell in which gradients were measured."""
    return [f"{GRADIENTS}-{cell}" for cell, found in card.cells.items() if found.gradient_flow is not None]


def draw(session: Session, card: ReportCard, name: str, theme: Theme) -> Figure:
    """Draw a figure of a card; ``name`` is one of ``names(card)``."""
    found = flows(session, card, name)
    lines = [Flow(label, points) for label, points in found.items()]
    return gradients(lines, card.method, theme, title=f"{card.method} in {name.removeprefix(f'{GRADIENTS}-')}")


def flows(session: Session, card: ReportCard, name: str) -> Mapping[str, list[tuple[float, float]]]:
    """Read the norm of the gradient by time step, for each gain."""
    measured = card.cells[name.removeprefix(f"{GRADIENTS}-")].gradient_flow
    assert measured is not None, "a figure of names()"
    series = queries.measurements(session, measured.run_id, series=(), max_points=MAX_POINTS).series
    return {_label(path): [(x, y) for x, y, _ in one.points] for path, one in series.items()}


def _label(series: str) -> str:
    """Label of a series: ``gradient_norm gain=0.1`` becomes gain 0.1."""
    _, _, at = series.partition(" ")
    return at.replace("=", " ") or "gradient"
