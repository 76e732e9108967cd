"""All methods one can ask for: ours, and those of packages that are installed beside us.

A package of yours adds a method by an entry point in the group ``normbench.methods``: its name is the tag, its value
the class of options, a ``Method`` that imports no torch and whose ``home`` is the module with the class that does.
"""

import warnings
from collections.abc import Iterable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Annotated, Union

from pydantic import Discriminator

from normcore.spec.norm import BUILT_IN, Method

GROUP = "normbench.methods"


class UnusableMethod(UserWarning):
    """A package offers a method that cannot be used; it is left out."""


def installed(entries: Iterable[EntryPoint], taken: Mapping[str, type[Method]]) -> dict[str, type[Method]]:
    """The methods of ``entries`` by tag; one that cannot be used is left out with a warning that says why."""
    found: dict[str, type[Method]] = {}
    for entry in entries:
        try:
            method = entry.load()
            _check(method, entry.name, {**taken, **found})
        except Exception as error:  # whatever somebody's package does, the others must work
            warnings.warn(f"method {entry.name} ({entry.value}) is left out: {error}", UnusableMethod, stacklevel=2)
        else:
            found[entry.name] = method
    return found


def _check(method: object, tag: str, taken: Mapping[str, type[Method]]) -> None:
    if not (isinstance(method, type) and issubclass(method, Method)):
        raise TypeError("expected a subclass of normcore.spec.norm.Method")
    if method.model_fields["method"].default != tag:
        raise ValueError(f'expected its field method: Literal["{tag}"] = "{tag}"')
    if not method.home:
        raise ValueError("expected home, the module with the class that normalizes")
    if tag in taken:
        raise ValueError("there is a method of that name already")


_OURS: dict[str, type[Method]] = {cls.model_fields["method"].default: cls for cls in BUILT_IN}
METHODS: dict[str, type[Method]] = {**_OURS, **installed(entry_points(group=GROUP), _OURS)}


def origin(tag: str) -> str | None:
    """The package and version that a method comes from; None if it is ours."""
    for entry in entry_points(group=GROUP, name=tag):
        if tag not in _OURS and entry.dist is not None:
            return f"{entry.dist.name} {entry.dist.version}"
    return None


if TYPE_CHECKING:
    Norm = Method
else:
    Norm = Annotated[Union[tuple(METHODS.values())], Discriminator("method")]  # noqa: UP007
