"""A file system that can fall silent: its calls do not return, like those of a server that hangs."""

import threading
from typing import Any, ClassVar

import fsspec
from fsspec.implementations.memory import MemoryFileSystem


class SilentFileSystem(MemoryFileSystem):  # type: ignore[misc]
    """File system in memory, under ``silent://``, that does not answer when a test says so."""

    protocol = "silent"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    answers: ClassVar[threading.Event] = threading.Event()
    answers.set()

    asked: ClassVar[list[str]] = []  # folders of which files were asked

    def ls(self, *arguments: Any, **options: Any) -> Any:
        self.asked.append(arguments[0])
        self.answers.wait()
        return super().ls(*arguments, **options)

    def makedirs(self, *arguments: Any, **options: Any) -> None:
        self.answers.wait()
        super().makedirs(*arguments, **options)

    def _open(self, *arguments: Any, **options: Any) -> Any:
        self.answers.wait()
        return super()._open(*arguments, **options)


fsspec.register_implementation("silent", SilentFileSystem, clobber=True)
