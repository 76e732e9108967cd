"""A training whose store runs out of memory. Its process imports this module."""

from multiprocessing.connection import Connection
from typing import Any

import fsspec
from fsspec.implementations.memory import MemoryFileSystem

from workers import child
from workers.messages import Job


class SmallMemory(MemoryFileSystem):  # type: ignore[misc]
    """A store that runs out of memory when a checkpoint is written."""

    protocol = "small"

    def _open(self, path: str, *args: Any, **options: Any) -> Any:
        if "checkpoint" in path:
            raise MemoryError
        return super()._open(path, *args, **options)


def train_with_small_memory(job: Job, worker: Connection) -> None:
    fsspec.register_implementation("small", SmallMemory)
    child.work(job, worker)
