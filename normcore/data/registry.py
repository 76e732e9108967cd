"""The data sets a task may need: the one door for whoever lists, checks, fetches or reads them. Torch-free.

They live at ``<data sets' directory>/<data set>/<file>``, in their official formats and names, plain or gzipped, and
each file is checked against the SHA-256 of its uncompressed content. Two come bundled with installed packages.
"""

from pathlib import Path

from normcore.data.datasets import DATASETS, DataFile, Dataset
from normcore.data.download import DownloadFailed, Progress, fetch
from normcore.data.stored import (
    DatasetCorrupt,
    DatasetError,
    DatasetMissing,
    Status,
    locate,
    read_bytes,
    status,
    verify,
)
from normcore.data.text_file import text_sha256
from normcore.spec import ExperimentSpec
from normcore.spec.tasks import CharLM

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
    "fetch",
    "locate",
    "pin",
    "read_bytes",
    "status",
    "verify",
]


def pin(spec: ExperimentSpec, datasets_dir: Path | None) -> ExperimentSpec:
    """Check that the spec's data is at hand, and tie the spec to its content.

    Returns:
        The spec; for a text file of the user's with ``task.sha256`` filled in, since the text decides the result.

    Raises:
        DatasetMissing: a data set or text file is not there; the message says how to get it.
        DatasetCorrupt: it is there with other content.
    """
    for name in spec.task.datasets():
        verify(DATASETS[name], datasets_dir)
    if not isinstance(spec.task, CharLM) or spec.task.file is None:
        return spec
    sha256 = text_sha256(spec.task.file, datasets_dir, expected=spec.task.sha256)
    return spec.model_copy(update={"task": spec.task.model_copy(update={"sha256": sha256})})
