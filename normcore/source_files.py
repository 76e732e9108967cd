"""Source files of packages: paths, changes, and digests of the code. This module does not import torch."""

import ast
import hashlib
import io
import os
import threading
import tokenize
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

PYTHON = (".py", ".pyx", ".pxd", ".so", ".pyd")
COMPILED = (".c", ".cc", ".cpp", ".cxx", ".cu", ".cuh", ".h", ".hpp")
SUFFIXES = (*PYTHON, *COMPILED)  # a package may have data sets and results beside its sources

_parsing = threading.Lock()  # CPython 3.11 counts the depth of all threads' trees together, and raises SystemError


class State(NamedTuple):
    """Times of change and size of a file. They show that a file changed without reading the file.

    Attributes:
        mtime_ns: time that the file itself says; a copy may keep it.
        ctime_ns: time when the file was written on this machine.
    """

    mtime_ns: int
    size: int
    ctime_ns: int


class Source(NamedTuple):
    """Source file of a package. ``name`` begins with the package and is the same on every machine."""

    name: str
    path: str
    state: State


_digests: dict[str, tuple[State, str]] = {}  # by path


def files_below(folder: Path) -> Iterator[tuple[str, State]]:
    """Yield path and state of every source file below a folder. Hidden folders and ``__pycache__`` are left out."""
    pending, seen = [str(folder)], set[tuple[int, int]]()
    while pending:
        inner = pending.pop()
        try:
            place = os.stat(inner)
            with os.scandir(inner) as found:
                entries = list(found)
        except OSError:  # removed or made unreadable meanwhile
            continue
        if (place.st_dev, place.st_ino) in seen:  # a link to a folder above
            continue
        seen.add((place.st_dev, place.st_ino))
        for entry in entries:
            if entry.is_dir():
                if not entry.name.startswith((".", "__pycache__")):
                    pending.append(entry.path)
            elif entry.name.endswith(SUFFIXES):
                state = state_of(entry.path)
                if state is not None:
                    yield entry.path, state


def state_of(path: str) -> State | None:
    """Return the state of a file; None if the file does not exist."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return State(found.st_mtime_ns, found.st_size, found.st_ctime_ns)


def digest_of(path: str, state: State | None = None) -> str | None:
    """Compute the SHA-256 of a file's code; None if the file does not exist. A file is read once for each state."""
    state = state or state_of(path)
    if state is None:
        return None
    known = _digests.get(path)
    if known is not None and known[0] == state:
        return known[1]
    try:
        content = Path(path).read_bytes()
    except OSError:
        return None
    found = digest_of_content(path, content)
    _digests[path] = (state, found)
    return found


def digest_of_content(path: str, content: bytes) -> str:
    """Compute the SHA-256 of the code in a file's content."""
    return hashlib.sha256(code_in(content) if path.endswith(".py") else content).hexdigest()


def known_digests() -> dict[str, tuple[State, str]]:
    """Return all digests that this process has computed, by path: the state of the file and the digest of its code."""
    return dict(_digests)


def keep_digests(known: Mapping[str, tuple[State, str]]) -> None:
    """Take over the digests that another process of this machine has computed."""
    _digests.update(known)


def code_in(source: bytes) -> bytes:
    """Remove comments, docstrings and blank lines from Python source, because they change no result. Source that is not
    valid Python is returned unchanged."""
    try:
        text = source.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
        lines: list[str | None] = [*text.split("\n")]  # as Python does: splitlines() also splits at form feeds
        with _parsing:
            tree = ast.parse(text)
        for first, last in _docstrings(tree, lines):
            lines[first - 1 : last] = [None] * (last - first + 1)
        for token in tokenize.tokenize(io.BytesIO(text.encode()).readline):
            row, column = token.start
            line = lines[row - 1] if token.type in (tokenize.COMMENT, tokenize.NL) else None
            if line is not None:
                lines[row - 1] = line[:column].rstrip() or None
    except (SyntaxError, ValueError, IndexError, tokenize.TokenError):
        return source
    return "\n".join(line for line in lines if line is not None).rstrip("\n").encode()


def _docstrings(tree: ast.Module, lines: Sequence[str | None]) -> Iterator[tuple[int, int]]:
    """Yield the numbers of the first and the last line of each docstring that shares no line with code."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if ast.get_docstring(node, clean=False) is None:
            continue
        text, after = node.body[0], node.body[1:2]
        last = text.end_lineno or text.lineno
        begins_line = not (lines[text.lineno - 1] or "")[: text.col_offset].strip()
        if begins_line and not any(statement.lineno <= last for statement in after):
            yield text.lineno, last


def source_of_module(module: str) -> list[Source]:
    """Find the file of one module without importing its package. The list is empty if there is no such file."""
    location = _locate(module)
    state = state_of(location.file) if location is not None and location.file is not None else None
    if location is None or location.file is None or state is None:
        return []
    depth = module.count(".") + (2 if location.folders else 1)  # names of folders and the file
    return [Source("/".join(Path(location.file).parts[-depth:]), location.file, state)]


def sources_of_package(module: str) -> list[Source]:
    """Find all source files of the outermost package that a module is in. For a module in a folder without
    ``__init__.py``, find all source files below this folder; for a module outside folders, the file of the module."""
    name, above = "", _Location(None, [])
    for part in module.split("."):
        name = f"{name}.{part}".removeprefix(".")
        location = _locate(name)
        if location is None:
            return []
        if location.file is not None:  # a folder without __init__.py has no file of its own
            if location.folders:
                return _below(name, location.folders)
            return _below(name.rpartition(".")[0], above.folders) if above.folders else source_of_module(name)
        above = location
    return []


def _below(package: str, folders: Iterable[str]) -> list[Source]:
    found = []
    for folder in folders:
        start = len(folder.rstrip(os.sep))
        for path, state in files_below(Path(folder)):
            found.append(Source(package.replace(".", "/") + path[start:].replace(os.sep, "/"), path, state))
    return found


class _Location(NamedTuple):
    """Location of a module: its file, and its folders if it is a package."""

    file: str | None
    folders: Sequence[str]


def _locate(module: str) -> _Location | None:
    """Find the location of a module without importing its package, because the package may import torch."""
    top, *inner = module.split(".")
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):  # a module without a spec, such as __main__
        return None
    if spec is None:
        return None
    location = _Location(spec.origin if spec.has_location else None, list(spec.submodule_search_locations or ()))
    for name in inner:
        found = _inside(location.folders, name)
        if found is None:
            return None
        location = found
    return location


def _inside(folders: Sequence[str], name: str) -> _Location | None:
    """Find the module ``name`` in the folders of a package, by Python's own rules."""
    for folder in folders:
        package, file = os.path.join(folder, name), os.path.join(folder, f"{name}.py")
        if os.path.isfile(os.path.join(package, "__init__.py")):
            return _Location(os.path.join(package, "__init__.py"), [package])
        if os.path.isfile(file):
            return _Location(file, [])
    spaces = [package for folder in folders if os.path.isdir(package := os.path.join(folder, name))]
    return _Location(None, spaces) if spaces else None
