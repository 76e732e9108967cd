"""Failures of plug-ins: their messages, and how a real Ctrl-C is told apart."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from traceback import format_exception_only
from types import FrameType


class UnusablePlugIn(UserWarning):
    """A package offers a class that cannot be used; it is left out."""


class PlugInWithTorch(UserWarning):
    """A package imports torch with its options; it is used, but the API and the scheduler then hold torch."""


class Unfit(Exception):
    """Why a class cannot be used, in words."""


class CannotRun(Exception):
    """A package's implementation cannot be imported; the message names the package and the class."""


def in_words(error: BaseException) -> str:
    """An error on one line, with its class unless it is one of ours."""
    said = str(error) if isinstance(error, Unfit) else "".join(format_exception_only(error))
    return " ".join(said.split())


@contextmanager
def noticing_ctrl_c() -> Iterator[list[int]]:
    """Gives a list that is empty until somebody presses Ctrl-C, for any code can raise KeyboardInterrupt by itself."""
    signals: list[int] = []
    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or threading.current_thread() is not threading.main_thread():
        yield signals  # Ctrl-C raises nothing here
        return

    def notice(number: int, frame: FrameType | None) -> None:
        signals.append(number)
        before(number, frame)

    signal.signal(signal.SIGINT, notice)
    try:
        yield signals
    finally:
        signal.signal(signal.SIGINT, before)
