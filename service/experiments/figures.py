"""The figures of a run: its learning curves, drawn from what is stored, and those that its task made of the model."""

import json
from typing import Any, cast

from sqlalchemy.orm import Session

from normcore.figures import Figure, Theme, themed
from normcore.figures.curves import curves
from service.artifacts import Artifacts
from service.errors import NotFound
from service.experiments import files, queries
from service.experiments.schemas import RunOut

CURVES = "curves"
FOLDER, SUFFIX = "figures/", ".json"
MAX_POINTS = 500  # of a curve


def curves_of(session: Session, run: RunOut) -> Figure:
    """The learning curves of a run, as far as it is."""
    measured = queries.measurements(session, run.id, series=(), max_points=MAX_POINTS)
    points = {name: [(x, y) for x, y, _ in series.points] for name, series in measured.series.items()}
    units = {name.rpartition(".")[2]: series.unit for name, series in measured.series.items() if series.unit}
    return curves(points, f"{run.id}, seed {run.seed}", measured.x, units)


def stored(artifacts: Artifacts, run: RunOut, name: str) -> Figure:
    """A figure that was stored when the run succeeded, such as those that the task made of the selected model.

    Raises:
        NotFound: there is none of that name; the message tells which there are.
    """
    shown = files.shown(run, artifacts.list(run.id))
    found = shown.get(f"{FOLDER}{name}{SUFFIX}")
    if found is None:
        drawn = (file.removeprefix(FOLDER).removesuffix(SUFFIX) for file in shown if file.startswith(FOLDER))
        there = dict.fromkeys([CURVES, *drawn])
        raise NotFound(f"run {run.id} has no figure {name[:60]!r}; it has {', '.join(there)}")
    content: Any = json.loads(artifacts.read(run.id, found.attempt, found.name))
    return cast(Figure, content)


def in_colours(figure: Figure, theme: Theme) -> bytes:
    """The figure as JSON, in the colours of a light or a dark page."""
    return json.dumps(themed(figure, theme), allow_nan=False).encode()
