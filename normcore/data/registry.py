"""Registry of the data sets that tasks need: import from here to list, check, fetch or read them. Torch-free.

Data sets lie at ``<data sets' directory>/<folder>/<file>``, in their official formats and names, plain or gzipped. Each
file is checked against the SHA-256 of its uncompressed content. Two data sets come bundled with installed packages.
"""

from collections.abc import Callable, Mapping
from pathlib import Path

from normcore.data.checksums import checksums
from normcore.data.datasets import DATASETS, DataFile, Dataset
from normcore.data.download import DownloadFailed, Progress, fetch
from normcore.data.files import (
    DatasetCorrupt,
    DatasetError,
    DatasetMissing,
    Status,
    by_hand,
    locate,
    present_checksums,
    problems,
    read_bytes,
    read_chunks,
    status,
    verify,
)
from normcore.data.pydoc import pydoc_text
from normcore.data.text_file import examine_text, split_points
from normcore.spec import ExperimentSpec, InvalidSpec, SpecError
from normcore.spec.messages import quote_value
from normcore.spec.tasks.char_lm import CharLM

__all__ = [
    "DATASETS",
    "DataFile",
    "Dataset",
    "DatasetCorrupt",
    "DatasetError",
    "DatasetMissing",
    "DownloadFailed",
    "Progress",
    "Status",
    "by_hand",
    "checksums",
    "fetch",
    "locate",
    "pin",
    "present_checksums",
    "problems",
    "read_bytes",
    "read_chunks",
    "status",
    "verify",
]


def pin(spec: ExperimentSpec, datasets_dir: Path | None) -> ExperimentSpec:
    """Check that the spec's data is on disk, and write the digest of a user's own text into the spec.

    Returns:
        The spec. If the task reads a user's own text file, ``task.sha256`` is filled in, since the text decides the
        result.

    Raises:
        DatasetMissing: a data set or text file is not there; the message says how to get it.
        DatasetCorrupt: a file has other content than it should, or cannot be used.
        InvalidSpec: the text is too short for the task's examples, or a plug-in's task asks for an unknown data set.
    """
    task = spec.task
    try:
        for need in task.needs():
            field = need.field
            if need.dataset not in DATASETS:
                unknown = (
                    f"{task.name} asks for the data set {quote_value(need.dataset)}, which is not known; use another"
                )
                raise InvalidSpec([SpecError(("task", field), unknown, "unknown_dataset")])
            verify(DATASETS[need.dataset], datasets_dir)
    except DatasetError as error:
        error.field = ("task", field)
        raise
    if isinstance(task, CharLM):
        return spec.model_copy(update={"task": PINS[task.corpus](task, datasets_dir)})
    return spec


def _pin_pydoc(task: CharLM, datasets_dir: Path | None) -> CharLM:
    _check_lengths(task, len(pydoc_text()))
    return task


def _pin_official(task: CharLM, datasets_dir: Path | None) -> CharLM:
    return task


def _pin_file(task: CharLM, datasets_dir: Path | None) -> CharLM:
    assert task.file is not None
    facts = examine_text(task.file, datasets_dir, expected=task.sha256)
    _check_lengths(task, facts.characters)
    return task.model_copy(update={"sha256": facts.sha256})


PINS: Mapping[str, Callable[[CharLM, Path | None], CharLM]] = {
    "pydoc": _pin_pydoc,
    "ptb": _pin_official,
    "text8": _pin_official,
    "text8_prefix": _pin_official,
    "file": _pin_file,
}
"""Check of a text before training, by ``task.corpus``; each check returns the task, with a digest if it needs one."""


def _check_lengths(task: CharLM, characters: int) -> None:
    train, train_and_valid = split_points(characters)
    try:
        task.check_lengths(train, train_and_valid - train)
    except ValueError as error:
        raise InvalidSpec([SpecError(("task", "sequence_length"), str(error), "length")]) from None
