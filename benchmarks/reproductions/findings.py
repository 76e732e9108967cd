"""Findings of analyses, compared with the papers' statements, as a table."""

from collections.abc import Iterator, Mapping
from typing import Any

from benchmarks.reproductions.markdown import Row, number, table, words
from benchmarks.reproductions.measurements import AnalysisFindings

HOLDS = {True: "yes", False: "**no**", None: ""}


def findings(found: Mapping[str, AnalysisFindings]) -> str:
    """Table with one row for each finding. If an analysis has findings with a claim, only those are shown.

    Args:
        found: analyses by the name of the spec.
    """
    return table(_rows(found)) if found else "Not run."


def _rows(found: Mapping[str, AnalysisFindings]) -> Iterator[Row]:
    yield ("spec", "finding", "found", "the paper says", "holds")
    for name, analysed in found.items():
        claimed = [finding for finding in analysed.findings if finding["claim"] is not None]
        for finding in claimed or analysed.findings:
            yield (words(name), *_cells(finding))


def _cells(finding: Mapping[str, Any]) -> Row:
    value, claim = finding["value"], finding["claim"]
    return (
        f"{finding['name']}: {finding['meaning']}",
        "–" if value is None else number(value),
        "" if claim is None else f"{claim} ({finding['source']})",
        HOLDS[finding["holds"]],
    )
