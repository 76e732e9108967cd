"""Messages as files of a folder, for ``normbench up``."""

import os
import threading
import time
from contextlib import suppress
from pathlib import Path
from queue import Empty
from typing import Any

from kombu.transport import filesystem, virtual
from kombu.utils.json import dumps, loads

from service.transports.envelope import drop, is_readable


class FilesChannel(filesystem.Channel):  # type: ignore[misc]
    """Kombu's transport through files, made safe in four ways:

    - A message is renamed into the folder once it is complete. A message of kombu can be read half written.
    - Every process keeps its declared queues in memory. Kombu keeps them in a file, which a power cut may damage for
    ever.
    - Declarations take a lock. Otherwise two threads that declare at the same time could make an exchange lose its
    queues.
    - A file that is not a message is dropped. Kombu would raise an error.
    """

    supports_fanout = False
    get_table = virtual.Channel.get_table
    _declaring = threading.Lock()

    def exchange_declare(self, *args: Any, **options: Any) -> None:
        with self._declaring:
            super().exchange_declare(*args, **options)

    def _put(self, queue: str, payload: Any, **options: Any) -> None:
        folder = Path(self.data_folder_out)
        name = _new_name()
        hidden = folder / f"{name}.part"
        hidden.write_text(dumps(payload))
        hidden.rename(folder / f"{name}.{queue}.msg")

    def _get(self, queue: str, timeout: float | None = None) -> Any:
        folder = Path(self.data_folder_in)
        for name in sorted(os.listdir(folder)):
            if name.partition(".")[2] != f"{queue}.msg":
                continue
            raw = _take_message(folder / name)
            if raw is not None and is_readable(raw):
                return loads(raw)
        raise Empty


class FilesTransport(filesystem.Transport):  # type: ignore[misc]
    Channel = FilesChannel


def _new_name() -> str:
    return f"{time.monotonic_ns():020d}_{os.urandom(8).hex()}"


def _take_message(path: Path) -> bytes | None:
    """Remove a message from the folder, and return its bytes. None if another process took it first, or if it is not a
    readable file.
    """
    mine = path.with_name(f"{_new_name()}.taken")
    try:
        path.rename(mine)
    except OSError:
        return None
    try:
        if not mine.is_file():  # a pipe would never end
            raise IsADirectoryError("not a file")
        return mine.read_bytes()
    except OSError as error:
        drop(f"it cannot be read: {error}")
        return None
    finally:
        with suppress(OSError):
            mine.unlink()
