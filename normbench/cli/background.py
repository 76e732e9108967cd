"""``normbench up`` as a process in the background: start it, and wait until it can train."""

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from normbench.cli.command import NOTE, note
from normbench.client import Client
from normbench.errors import NormbenchError, Unauthorized

READY_SECONDS = 120.0
LOOK_SECONDS = 0.1  # between two looks
TAIL_CHARACTERS = 2000  # of a log, shown in an error


class Service:
    """Process of ``normbench up``.

    Args:
        options: options of ``normbench up``.
        log: file to which the process's output is added.
        stays: True if the process outlives this one and its terminal.
    """

    def __init__(self, *options: str, log: Path, stays: bool) -> None:
        self.log = log
        with log.open("ab") as output:
            self._begins = output.tell()
            self.process = subprocess.Popen(
                [sys.executable, "-P", "-m", "normbench", "up", "--json", *options],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=stays,
            )

    def ready(self) -> str:
        """Wait until the service answers and has a worker; return its URL. Meanwhile print the service's notes.

        Raises:
            NormbenchError: the service has ended, or is not ready in time; the message has the end of its log.
        """
        deadline = time.monotonic() + READY_SECONDS
        noted = 0
        while time.monotonic() < deadline:
            notes = self._notes()
            for text in notes[noted:]:
                note(text)
            noted = len(notes)
            if self.process.poll() is not None:
                raise NormbenchError(self._quote_output(f"the service ended with status {self.process.returncode}"))
            url = self._address()
            if url is not None and _can_train(url):
                return url
            time.sleep(LOOK_SECONDS)
        raise NormbenchError(self._quote_output(f"the service was not ready in {READY_SECONDS:g} s"))

    def stop(self) -> None:
        """Terminate the process, and wait until it has ended."""
        self.process.terminate()
        self.process.wait()

    def _address(self) -> str | None:
        """URL that the process has printed, so no other service answers at it; None before."""
        for line in self._read_output().splitlines():
            told = _object(line)
            if "url" in told:
                return str(told["url"])
        return None

    def _notes(self) -> list[str]:
        """Notes that the process has printed, as far as their lines have ended."""
        lines = self._read_output().splitlines(keepends=True)
        return [line.removeprefix(NOTE).rstrip("\n") for line in lines if line.startswith(NOTE) and line.endswith("\n")]

    def _read_output(self) -> str:
        with self.log.open("rb") as log:
            log.seek(self._begins)
            return log.read().decode(errors="replace")

    def _quote_output(self, what: str) -> str:
        return f"{what}; {self.log} says:\n{self._read_output()[-TAIL_CHARACTERS:].rstrip()}"


def _object(line: str) -> dict[str, Any]:
    try:
        told = json.loads(line)
    except ValueError:
        return {}
    return told if isinstance(told, dict) else {}


def _can_train(url: str) -> bool:
    """Tell if the service is ready and a worker has registered. The worker may still compile its kernels."""
    with Client(url, patience=0) as client:
        try:
            return client.is_ready() and bool(client.catalogue("workers"))
        except Unauthorized:  # the service asks for a key that this shell does not have
            return True
        except NormbenchError:
            return False
