"""Reference page of the Python client, written from its docstrings."""

import inspect
import re
from collections.abc import Iterator
from typing import Any

from guide.reference.markdown import cell, code, joined, prose
from normbench import Client, Measured, StateChanged
from normbench.errors import NormbenchError

SECTION = re.compile(r"^(Args|Attributes|Raises|Returns|Yields):\n((?:    .*\n?|\n)+)", re.MULTILINE)
MODULE = re.compile(r"(normbench|collections|pathlib|typing)(\.[a-z_]+)*\.")
ITEM = re.compile(r"^(\S[^:]*): (.*(?:\n {4,}.*)*)", re.MULTILINE)
EVENTS: tuple[type, ...] = (StateChanged, Measured)


def page() -> str:
    """Markdown of the page of the client."""
    return joined(
        "# Python client",
        "`from normbench import Client`. [In a notebook](../use/notebook.md) shows it at work.",
        "## Client",
        _signature("Client", Client.__init__),
        _documented(Client.__doc__),
        *(_method(name, method) for name, method in _methods()),
        "## Errors",
        *_classes(NormbenchError),
        "## Events",
        *map(_class, EVENTS),
    )


def _methods() -> Iterator[tuple[str, Any]]:
    for name, method in vars(Client).items():
        if not name.startswith("_") and inspect.isfunction(method):
            yield name, method


def _method(name: str, method: Any) -> str:
    return joined(f"### {name}", _signature(f"client.{name}", method), _documented(method.__doc__))


def _signature(name: str, function: Any) -> str:
    signature = inspect.signature(function)
    parameters = [one for parameter, one in signature.parameters.items() if parameter != "self"]
    shown = str(signature.replace(parameters=parameters)).removesuffix(" -> None")
    return f"```text\n{name}{MODULE.sub('', shown)}\n```"


def _documented(text: str | None) -> str:
    """Markdown of a docstring. Its sections, such as ``Args``, become lists."""
    return SECTION.sub(lambda found: f"{found[1]}:\n\n{_items(found[2])}\n\n", prose(text) + "\n").strip()


def _items(block: str) -> str:
    items = ITEM.findall(inspect.cleandoc(block))
    if not items:
        return inspect.cleandoc(block)
    return "\n".join(f"- {code(name.strip('`'))}: {cell(text)}" for name, text in items)


def _classes(base: type[NormbenchError]) -> Iterator[str]:
    yield _class(base)
    for kind in base.__subclasses__():
        yield from _classes(kind)


def _class(kind: type) -> str:
    return joined(f"### {kind.__name__}", _documented(kind.__doc__))
