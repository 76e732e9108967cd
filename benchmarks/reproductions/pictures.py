"""Pictures of the sections, as files beside the page: learning curves, and samples that a model made."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, cast

import kaleido
from sqlalchemy.orm import Session

from benchmarks.reproductions.markdown import words
from benchmarks.reproductions.mean_curves import Band, mean_curves
from benchmarks.reproductions.measurements import SpecResults, made_by, trained
from benchmarks.reproductions.sections import CURVES, Section
from normcore.figures.figure import Figure, apply_theme
from normcore.spec import TrainingSpec
from normcore.spec.metric import Metric
from normcore.target import Point
from service.artifacts import Artifacts
from service.statistics.values import NOMINAL, UNLIMITED, Limits, interval

WIDTH, HEIGHT = 760, 380  # pixels


def draw(session: Session, artifacts: Artifacts, sections: Iterable[Section], folder: Path) -> None:
    """Write the pictures of the sections that have runs in the database. Other pictures stay.

    A picture of curves also stays if one of its specs has no run.

    Raises:
        choreographer.errors.ChromeNotFoundError: Chrome and Chromium are not installed.
    """
    for section in sections:
        for name, picture in pictures(session, artifacts, section):
            file = folder / section.specs / name
            if name == CURVES and file.exists() and not _all_are_run(session, section):
                continue
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(picture if isinstance(picture, bytes) else _svg(picture))


def pictures(session: Session, artifacts: Artifacts, section: Section) -> Iterator[tuple[str, Figure | bytes]]:
    """Yield the file names of a section's pictures, each with its figure or its bytes."""
    specs = {name: spec for name, spec in section.resolved().items() if isinstance(spec, TrainingSpec)}
    runs = {name: run for name, spec in specs.items() if (run := trained(session, spec, "")) is not None}
    drawn = {name: runs[name] for name in section.draws if name in runs}
    if drawn:
        metric = next(iter(specs.values())).task.metric()
        yield CURVES, _curves(section, drawn, metric)
    for sample in section.samples:
        run_id = runs[sample.spec].run_to_show if sample.spec in runs else None
        if run_id is not None and not sample.is_text:
            yield sample.file, _sample(artifacts, run_id, sample.artifact)


def _all_are_run(session: Session, section: Section) -> bool:
    specs = section.trainings()
    return all(trained(session, specs[name], "") is not None for name in section.draws)


def bands(curves: Iterable[Sequence[Point]], limits: Limits = UNLIMITED) -> list[Band]:
    """Mean and interval over the seeds at each step, up to the end of the shortest curve.

    Args:
        limits: limits of the metric's values, which cut the intervals.
    """
    found = []
    for points in zip(*curves, strict=False):
        values = [point.value for point in points]
        found.append(Band(points[0].step, fmean(values), interval(values, NOMINAL, limits)))
    return found


def _curves(section: Section, runs: Mapping[str, SpecResults], metric: Metric) -> Figure:
    by_name = {words(name): bands(run.curves.values(), Limits.of(metric)) for name, run in runs.items()}
    y = f"{words(metric.name)} in validation"
    return mean_curves(by_name, section.title, "updates", y, words(section.baseline))


def _sample(artifacts: Artifacts, run_id: str, name: str) -> Figure | bytes:
    content = made_by(run_id, name, artifacts)
    return cast(Figure, json.loads(content)) if name.endswith(".json") else content


def _svg(figure: Figure) -> bytes:
    drawn: Any = apply_theme(figure, "light")
    height = figure["layout"].get("height", HEIGHT)
    content: bytes = kaleido.calc_fig_sync(drawn, opts={"format": "svg", "width": WIDTH, "height": height})
    return content
