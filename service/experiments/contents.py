"""Contents of a run's files that its page shows: the end of its log, texts, and figures of its task.

Whatever a task writes may be large or broken, so only a part of a large file is read.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from service.artifacts import CURVES, LOG, Artifact, Artifacts
from service.errors import NotFound
from service.experiments import files
from service.experiments.schemas import RunOut

LINES = 200  # of a log
LOG_BYTES = 24 * 1024
LINE_CHARACTERS = 1000  # a longer line is cut
TEXT_BYTES = 8 * 1024  # of a text
FIGURE_BYTES = 512 * 1024  # a larger figure is not read
MOST = 6  # texts, and figures
FIGURES, JSON, TXT = "figures/", ".json", ".txt"
UNSEEN = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f]")  # colours of a terminal, control characters


@dataclass(frozen=True, slots=True)
class Log:
    """End of the log of an attempt.

    Attributes:
        file: name of the file under which users get the whole log.
        is_whole: whether the log has no earlier lines.
    """

    attempt: int
    file: str
    lines: Sequence[str]
    is_whole: bool


@dataclass(frozen=True, slots=True)
class Text:
    """Beginning of a text that the run left, such as a sample of what its model writes."""

    file: str
    text: str
    is_whole: bool


@dataclass(frozen=True, slots=True)
class StoredFigure:
    """Figure that the task made of the model.

    Attributes:
        content: what its file holds; None if the file is too large, or is no JSON.
    """

    name: str
    content: Any
    is_large: bool = False


@dataclass(frozen=True, slots=True)
class Contents:
    """Everything of a run's files that its page shows. ``listed`` are all files of the run."""

    listed: Sequence[Artifact] = ()
    log: Log | None = None
    texts: Sequence[Text] = ()
    figures: Sequence[StoredFigure] = ()


def read_contents(store: Artifacts, run: RunOut) -> Contents:
    """List the files of a run, and read what its page shows."""
    listed = store.list(run.id)
    shown = files.choose_visible_artifacts(run, listed)
    return Contents(listed, _log(store, run, listed), _texts(store, run, shown), _figures(store, run, shown))


def _log(store: Artifacts, run: RunOut, listed: Sequence[Artifact]) -> Log | None:
    """Read the end of the newest attempt's log."""
    logs = [artifact for artifact in listed if artifact.name == LOG]
    if not logs:
        return None
    newest = max(logs)
    start = max(newest.size - LOG_BYTES, 0)
    lines = _read(store, run, newest, start, LOG_BYTES).splitlines()
    if start:
        lines = lines[1:]  # the first line is not whole
    last = [line[:LINE_CHARACTERS] for line in lines[-LINES:]]
    file = LOG if newest.attempt == run.attempt else f"{newest.attempt}.{LOG}"
    return Log(newest.attempt, file, last, is_whole=not start and len(last) == len(lines))


def _texts(store: Artifacts, run: RunOut, shown: Mapping[str, Artifact]) -> list[Text]:
    texts = [file for name, file in sorted(shown.items()) if name.endswith(TXT) and file.name != LOG]
    return [
        Text(file.name, _read(store, run, file, 0, TEXT_BYTES), is_whole=file.size <= TEXT_BYTES)
        for file in texts[:MOST]
    ]


def _figures(store: Artifacts, run: RunOut, shown: Mapping[str, Artifact]) -> list[StoredFigure]:
    found = [
        file
        for name, file in sorted(shown.items())
        if name.startswith(FIGURES) and name.endswith(JSON) and name != CURVES
    ]
    return [_figure(store, run, file) for file in found[:MOST]]


def _figure(store: Artifacts, run: RunOut, file: Artifact) -> StoredFigure:
    name = file.name.removeprefix(FIGURES).removesuffix(JSON)
    if file.size > FIGURE_BYTES:
        return StoredFigure(name, None, is_large=True)
    try:
        return StoredFigure(name, json.loads(store.read(run.id, file.attempt, file.name)))
    except (ValueError, RecursionError, NotFound):
        return StoredFigure(name, None)


def _read(store: Artifacts, run: RunOut, file: Artifact, start: int, length: int) -> str:
    """Read a part of a text; empty if the file was removed meanwhile."""
    try:
        pieces = store.stream(run.id, file.attempt, file.name, start=start, length=length)
        content = b"".join(pieces)
    except NotFound:
        return ""
    return UNSEEN.sub("", content.decode(errors="replace").replace("\r\n", "\n"))
