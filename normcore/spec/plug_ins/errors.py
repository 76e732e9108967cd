"""Warnings and errors about plug-ins."""

from traceback import format_exception_only


class UnusablePlugIn(UserWarning):
    """A package offers a class that cannot be used; it is left out."""


class PlugInWithTorch(UserWarning):
    """A package imports torch with its options; it is used, but the API and the scheduler then hold torch."""


class Unfit(Exception):
    """Reason why a class cannot be used, in words."""


class CannotRun(Exception):
    """A package's implementation cannot be imported; the message names the package and the class."""


def in_words(error: BaseException) -> str:
    """An error on one line, with its class unless it is one of ours."""
    said = str(error) if isinstance(error, Unfit) else "".join(format_exception_only(error))
    return " ".join(said.split())
