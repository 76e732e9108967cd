"""Figures on a page, read from Plotly."""

from collections.abc import Sequence
from typing import Any

from playwright.sync_api import Page

from tests.processes import until

SECONDS = 60.0
LINES = """() => [...document.querySelector(".plot-area")?.data ?? []].map(
  ({ meta, name, x, y }) => [meta?.faded ? "faded" : name, [...x], [...y]])"""

Points = Sequence[tuple[float, float]]


def drawn(page: Page) -> dict[str, Points]:
    """The points of the first figure's lines, by name."""
    lines: list[Any] = page.evaluate(LINES)
    return {name: list(zip(x, y, strict=True)) for name, x, y in lines}


def expect_drawn(page: Page, **lines: Points) -> None:
    """Wait until these lines have exactly these points; an underscore stands for a name's space."""
    wanted = {name.replace("_", " "): points for name, points in lines.items()}

    def is_drawn() -> bool:
        shown = drawn(page)
        return all(shown.get(name) == points for name, points in wanted.items())

    until(is_drawn, SECONDS, lambda: f"{drawn(page)} instead of {wanted}")
