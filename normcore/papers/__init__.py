"""Published results of papers: one YAML file for each paper, read and checked once. Imports no torch.

``results`` and ``curves`` of a file are grouped as the paper prints them, by table, figure or section. The fields of a
group hold for each of its ``rows``, and a row adds its own fields; together they make a ``Result`` or a ``Curve``.

To add a number, add a row. To add a paper, add a file.
"""

from functools import cache
from importlib.resources import files

from normcore.papers.entries import Curve, Paper, Result
from normcore.papers.reading import InvalidPaper, read

__all__ = ["Curve", "InvalidPaper", "Paper", "Result", "curves", "find_published_results", "papers"]


def find_published_results(task: str) -> tuple[Result, ...]:
    """Published results on a task, in the order of the papers' tables; empty if there are none."""
    return tuple(result for paper in papers() for result in paper.results if result.task == task)


def curves(task: str) -> tuple[Curve, ...]:
    """Curves that the papers published on a task or an analysis."""
    return tuple(curve for paper in papers() for curve in paper.curves if curve.task == task)


@cache
def papers() -> tuple[Paper, ...]:
    """Read all papers, in the order of their file names.

    Raises:
        InvalidPaper: a file does not have the form of a paper.
    """
    found = sorted(files(__name__).iterdir(), key=lambda file: file.name)
    return tuple(read(file) for file in found if file.name.endswith(".yaml"))
