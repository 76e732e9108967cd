"""Work of a process that its first pages would otherwise wait for: templates, digests of code, and late imports."""

import threading
from functools import cache
from importlib import import_module

from service.leaderboards.codes import PRESENT
from service.pages.rendering import templates

LATE_IMPORTS = ("latex2mathml.converter",)  # modules that are imported where they are used


@cache
def prepare_in_background() -> threading.Thread:
    """Start to prepare the pages, once in each process, in a thread of its own. Requests are answered meanwhile."""
    thread = threading.Thread(target=prepare_pages, name="prepare pages", daemon=True)
    thread.start()
    return thread


def prepare_pages() -> None:
    """Read the digests of the code, compile all templates, and import what is imported late."""
    PRESENT.digests()
    environment = templates()
    for name in environment.list_templates(extensions=["html"]):
        environment.get_template(name)
    for module in LATE_IMPORTS:
        import_module(module)
