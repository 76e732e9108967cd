"""Work of a process that its first pages would otherwise wait for: templates, digests of code, and late imports."""

import threading
from functools import cache
from importlib import import_module

from service.leaderboards.codes import PRESENT
from service.pages.rendering import templates

LATE_IMPORTS = ("latex2mathml.converter",)  # modules that are imported where they are used


@cache
def prepare_in_background() -> threading.Thread:
    """Start to prepare the pages, once in each process, in a thread of its own. Requests are answered meanwhile.

    Digests of the code are read before, because CPython 3.11 may not parse Python in several threads.
    """
    PRESENT.digests()
    thread = threading.Thread(target=prepare_pages, name="prepare pages", daemon=True)
    thread.start()
    return thread


def prepare_pages() -> None:
    """Compile all templates, and import what is imported late."""
    environment = templates()
    for name in environment.list_templates(extensions=["html"]):
        environment.get_template(name)
    for module in LATE_IMPORTS:
        import_module(module)
