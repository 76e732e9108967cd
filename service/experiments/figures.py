"""Figures of experiments and runs. An experiment's figure shows the curves of its seeds. A run has its learning curves,
drawn from stored measurements, and figures that its task made of the model.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

from sqlalchemy.orm import Session

from normcore.figures import Figure, Theme, apply_theme, as_json
from normcore.figures import seed_curves as pictures
from normcore.figures.curves import curves
from normcore.spec.metric import is_share
from normcore.target import Point
from service.artifacts import Artifacts
from service.errors import NotFound
from service.experiments import files, queries
from service.experiments.downsampling import downsample
from service.experiments.schemas import ExperimentOut, RunOut
from service.experiments.seed_curves import seed_curves
from service.experiments.tables import Run

CURVES = "curves"
FOLDER, SUFFIX = "figures/", ".json"
MAX_POINTS = 500  # of a curve
MAX_SEEDS = 12  # seeds that are drawn
MAX_SEED_POINTS = 400  # of each seed's curve


def curves_of(session: Session, run: RunOut) -> Figure:
    """Draw the learning curves of a run, up to its last stored measurement."""
    measured = queries.measurements(session, run.id, series=(), max_points=MAX_POINTS)
    points = {name: [(x, y) for x, y, _ in series.points] for name, series in measured.series.items()}
    units = {name.rpartition(".")[2]: series.unit for name, series in measured.series.items() if series.unit}
    figure = curves(points, f"{run.id}, seed {run.seed}", measured.x, units, diverged=run.outcome == "diverged")
    attempt, _ = queries.read_last_steps(session, Run.id == run.id).get(run.id, (run.attempt, 0))
    for trace in figure["data"]:
        trace["meta"] = {"run": run.id, "series": trace["name"], "attempt": attempt}
    return figure


def of_seeds(session: Session, experiment: ExperimentOut, theme: Theme) -> Figure:
    """Draw the validation curves of an experiment's seeds, and their mean. Each line's ``meta`` has what a live page
    needs to make the line longer.

    Raises:
        NotFound: the experiment is an analysis; only its runs have curves.
    """
    found = seed_curves(session, experiment)
    if found is None:
        raise NotFound(f"{experiment.spec['task']['name']} is an analysis; only its runs have curves, see /v1/runs")
    diverged = {run.id for run in experiment.runs if run.outcome == "diverged"}
    lines = [
        replace(
            _line(f"seed {seed.seed}", seed.points, run=seed.run_id, series=found.series, attempt=seed.attempt),
            diverged=seed.run_id in diverged,
        )
        for seed in found.seeds[:MAX_SEEDS]
    ]
    mean = _line("mean", found.mean, mean=True) if len(found.seeds) > 1 else None
    return pictures.seed_curves(
        lines,
        mean,
        experiment.spec["norm"]["method"],
        theme,
        x="training steps",
        y=f"validation {found.metric.replace('_', ' ')}",
        target=experiment.spec["training"]["target"],
        percent=is_share(found.metric),
    )


def _line(name: str, points: Sequence[Point], **meta: Any) -> pictures.SeedLine:
    kept = downsample(points, MAX_SEED_POINTS)
    return pictures.SeedLine(name, [step for step, *_ in kept], [float(f"{value:.5g}") for _, value, _ in kept], meta)


def read_stored_figure(artifacts: Artifacts, run: RunOut, name: str, theme: Theme) -> bytes:
    """Read a figure that was stored when the run succeeded, such as a figure that the task made of the selected model.

    Raises:
        NotFound: there is no figure of that name; the message lists the figures that exist.
    """
    shown = files.choose_visible_artifacts(run, artifacts.list(run.id))
    found = shown.get(f"{FOLDER}{name}{SUFFIX}")
    if found is None:
        drawn = (file.removeprefix(FOLDER).removesuffix(SUFFIX) for file in shown if file.startswith(FOLDER))
        there = dict.fromkeys([CURVES, *drawn])
        raise NotFound(f"run {run.id} has no figure {name[:60]!r}; it has {', '.join(there)}")
    content: Any = json.loads(artifacts.read(run.id, found.attempt, found.name))
    return in_colours(cast(Figure, content), theme)


def in_colours(figure: Figure, theme: Theme) -> bytes:
    """Write a figure as JSON, in the colours of a light or a dark page."""
    return as_json(apply_theme(figure, theme))
