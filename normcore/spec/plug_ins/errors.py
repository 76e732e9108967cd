"""Warnings and errors about plug-ins."""

from traceback import format_exception_only


class UnusablePlugIn(UserWarning):
    """Warning: a package offers a class that cannot be used. The class is left out."""


class PlugInWithTorch(UserWarning):
    """Warning: a package imports torch in the module of its options. Its class is used, but then the API and the
    scheduler have torch in their memory, too."""


class Unfit(Exception):
    """Error: a class of a plug-in cannot be used. The message says why."""


class CannotRun(Exception):
    """Error: the implementation of a plug-in cannot be imported. The message names the package and the class."""


def in_words(error: BaseException) -> str:
    """Write an error on one line, with the name of its class unless it is ``Unfit``."""
    said = str(error) if isinstance(error, Unfit) else "".join(format_exception_only(error))
    return " ".join(said.split())
