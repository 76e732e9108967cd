"""Modules whose names a class uses: if one of them is edited, a process that has imported the class has old code."""

import ast
import sys
from collections.abc import Iterator
from functools import cache
from importlib.util import resolve_name
from pathlib import Path
from sysconfig import get_paths

Place = tuple[str, str]  # a module, and a name in it
_INSTALLED = tuple({get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")})


def modules_used_by(kind: type) -> set[str]:
    """Find the modules from which a class takes names: for its defaults, its types and in its methods.

    The search follows the names through the imports and the assignments of each module, but not into installed
    packages, which nobody edits. Modules that are imported for another class or function of the same file do not
    count.
    """
    pending: list[Place] = [(kind.__module__, kind.__name__)]
    seen = set[Place]()
    while pending:
        place = pending.pop()
        if place not in seen and _file_of(place[0]) is not None:
            seen.add(place)
            pending += _used_at(*place)
    return {module for module, _ in seen}


def _used_at(module: str, name: str) -> Iterator[Place]:
    """Yield the place of each name that the definition of ``name`` in ``module`` uses."""
    definitions, imports = _read(module)
    if name in imports:
        source, original = imports[name]
        loaded = sys.modules.get(f"{source}.{original}")
        yield (source, original) if loaded is None else (loaded.__name__, "")
    for used in definitions.get(name, ()):
        if used in definitions or used in imports:
            yield module, used


@cache
def _read(module: str) -> tuple[dict[str, set[str]], dict[str, Place]]:
    """Read the names that each definition of a module uses, and the place from which each imported name comes. Both
    are empty for a compiled module."""
    definitions, imports = dict[str, set[str]](), dict[str, Place]()
    path = _file_of(module)
    if path is None or not path.endswith(".py"):
        return definitions, imports
    for statement in ast.parse(Path(path).read_bytes()).body:
        if isinstance(statement, ast.ImportFrom):
            source = _source(module, statement)
            imports |= {alias.asname or alias.name: (source, alias.name) for alias in statement.names}
        elif isinstance(statement, ast.Import):
            imports |= {alias.asname or alias.name.partition(".")[0]: (alias.name, "") for alias in statement.names}
        else:
            used = {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}
            for name in _defined(statement):
                definitions.setdefault(name, set()).update(used)
    return definitions, imports


def _file_of(module: str) -> str | None:
    """Find the file of a loaded module; None for a module of an installed package and for one without a file."""
    path: str | None = getattr(sys.modules.get(module), "__file__", None)
    return None if path is None or path.startswith(_INSTALLED) else path


def _source(module: str, statement: ast.ImportFrom) -> str:
    """Name the module that a statement of ``module`` imports from."""
    relative = "." * statement.level + (statement.module or "")
    return resolve_name(relative, sys.modules[module].__package__)


def _defined(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        yield statement.name
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
