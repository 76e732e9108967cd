"""Options that a process has loaded, compared with the files that they were loaded from.

The API has the classes of options in its memory. It resolves specs by their defaults and their checks, whatever stands
in the files later. So it must notice an edit, and refuse a spec of edited options until it is started again.
"""

import json
import os
import site
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from importlib.util import cache_from_source
from pathlib import Path
from sysconfig import get_paths
from typing import Any, NamedTuple

from pydantic.json_schema import GenerateJsonSchema

from normcore.own_code import PROJECT, REGISTRIES, list_option_classes, own_parts
from normcore.source_files import State, digest_of, digest_of_content, state_of
from normcore.spec import ExperimentSpec, digest
from normcore.spec.part import Part

OURS = frozenset({"normcore", "service", "workers", "normbench", "migrations", "tests", "benchmarks", "__main__"})
INSTALLED = tuple(
    {get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    | {site.getusersitepackages(), "/usr/lib/python3/dist-packages", str(Path(sys.base_prefix, "lib"))}
)
"""Folders of installed packages, of this environment, the user and the system."""
IMPORT_SECONDS = 30.0  # for a fresh process that imports the options
AGAIN_SECONDS = 60.0  # until options that differ, or that could not be imported, are compared again
SAME = 86  # status of a fresh process whose options are the same; an import that ends the process has another
COMPARE = "import os, sys; from normcore.loaded_options import compare; os._exit(compare(*sys.argv[1:]))"
"""Program of the fresh process; its arguments are those of ``compare``. The status tells the result, because an import
may print, and may leave processes that hold the output."""

Looked = dict[str, State | None]
"""States of files, by path. The state is None if the file does not exist."""


class _File(NamedTuple):
    """File of a loaded module, as it was when it was recorded."""

    name: str
    path: str
    state: State
    content: bytes


class _Comparison(NamedTuple):
    """Result of a comparison of options with their files, which had these states then."""

    states: list[State | None]
    is_same: bool
    moment: float

    def is_due(self) -> bool:
        """Tell if the options must be compared again. An import can fail for a reason that passes by itself."""
        return not self.is_same and time.monotonic() - self.moment >= AGAIN_SECONDS


class LoadedOptions:
    """Source files of all classes of options, as they were when this object was made.

    A spec depends on three kinds of files: on those of its own classes of options, on those of ``normcore.spec`` that
    all specs share, and, if it names a plug-in, on the modules of users that are loaded. After an edit of one of the
    last, a fresh process imports the options. They count as edited if their fields or defaults differ.
    """

    def __init__(self) -> None:
        kinds = {registry[tag] for _, registry, tag in list_option_classes()}
        self._own = {kind: _files(_modules_of_bases(kind)) for kind in kinds}
        with_options = {kind.__module__ for kind in kinds}
        self._shared = _files(name for name in _below(f"{PROJECT}.spec") if name not in with_options)
        tops = {_top(kind.__module__) for kind in kinds}
        self._of_users = _files(name for name in sorted(sys.modules) if _is_of_a_user(name, tops))
        self._digests: dict[str, str] = {}  # of the files whose state has changed
        self._compared: dict[type[Part], _Comparison] = {}
        self._lock = threading.Lock()  # so that many submissions at once start one process

    def compare_plug_ins(self, spec: ExperimentSpec) -> None:
        """Compare the plug-ins that a spec names with their files. If these were edited, this starts a process. The
        result is kept, so call this before a transaction in which ``find_edited`` is called.
        """
        if any(_top(type(part).__module__) != PROJECT for _, _, part in own_parts(spec)):
            self.find_edited(spec)

    def find_edited(self, spec: ExperimentSpec, looked: Looked | None = None) -> dict[str, str]:
        """Find the source files of a spec's options that were edited after this object was made: file names by part of
        the spec.

        Args:
            looked: files that were looked at for other specs; this call adds the files of its spec.
        """
        looked = {} if looked is None else looked
        found = {}
        for name, registry, part in own_parts(spec):
            edited = self._first_edited(self._own[type(part)], looked)
            if edited is None and _top(type(part).__module__) != PROJECT:
                edited = self._first_edited(self._of_users, looked)
                if edited is not None and self._are_the_same(name, registry.tag_of(part), type(part), looked):
                    edited = None
            if edited is not None:
                found[name] = edited
        shared = self._first_edited(self._shared, looked)
        return found if found or shared is None else {"task": shared}

    def _first_edited(self, files: Iterable[_File], looked: Looked) -> str | None:
        for file in files:
            now = _look_at(file, looked)
            if now != file.state and (now is None or digest_of(file.path, now) != self._digest_of(file)):
                return file.name
        return None

    def _digest_of(self, file: _File) -> str:
        if file.path not in self._digests:
            self._digests[file.path] = digest_of_content(file.path, file.content)
        return self._digests[file.path]

    def _are_the_same(self, part: str, tag: str, kind: type[Part], looked: Looked) -> bool:
        """Compare the loaded options with those that a fresh process imports now. This takes a second after an edit;
        the result is kept until the next edit, or for a while if the options differ."""
        with self._lock:
            states = [_look_at(file, looked) for file in self._of_users]
            known = self._compared.get(kind)
            if known is None or known.states != states or known.is_due():
                self._remove_compiled(states)
                is_same = _is_unchanged(part, tag, _describe(kind))
                known = self._compared[kind] = _Comparison(states, is_same, time.monotonic())
            return known.is_same

    def _remove_compiled(self, states: Iterable[State | None]) -> None:
        for file, now in zip(self._of_users, states, strict=True):
            if now != file.state:  # Python misses an edit within a second that keeps the size
                with suppress(OSError, NotImplementedError):
                    Path(cache_from_source(file.path)).unlink(missing_ok=True)


def _look_at(file: _File, looked: Looked) -> State | None:
    if file.path not in looked:
        looked[file.path] = state_of(file.path)
    return looked[file.path]


def compare(part: str, tag: str, described: str) -> int:
    """Compare options with those that this process imports for a part of a spec. ``SAME`` if they are the same."""
    registry = next(registry for registry in REGISTRIES[part] if tag in registry)
    return SAME if _describe(registry[tag]) == described else 0


class _JsonSchema(GenerateJsonSchema):
    def encode_default(self, dft: Any) -> Any:
        return _without_order(dft)


def _describe(kind: type[Part]) -> str:
    """Compute a digest of the fields and defaults of a class of options. It is the same in each process."""
    defaults: dict[str, Any] = {}
    for name, field in kind.model_fields.items():
        try:
            defaults[name] = field.get_default(call_default_factory=True, validated_data=defaults)
        except Exception as error:  # a function of the user, which may want fields that have no default
            defaults[name] = type(error).__name__
    schema = kind.model_json_schema(schema_generator=_JsonSchema)
    return digest([json.dumps(schema, sort_keys=True), _without_order(defaults)])


def _without_order(value: Any) -> Any:
    """Describe a default. The order of a set differs between processes, so the items are sorted."""
    if isinstance(value, Mapping):
        return {repr(key): _without_order(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [type(value).__name__, *map(_without_order, value)]
    if isinstance(value, set | frozenset):
        return [type(value).__name__, *sorted(map(repr, value))]
    return repr(value)


def _is_unchanged(part: str, tag: str, described: str) -> bool:
    """Run ``compare`` in a fresh process. False if it fails, for example because the edit has a mistake."""
    path = os.pathsep.join(folder for folder in sys.path if folder)
    command = [sys.executable, "-P", "-c", COMPARE, part, tag, described]
    nowhere = subprocess.DEVNULL
    try:
        done = subprocess.run(
            command,
            env={**os.environ, "PYTHONPATH": path},
            stdin=nowhere,
            stdout=nowhere,
            stderr=nowhere,
            timeout=IMPORT_SECONDS,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == SAME


def _modules_of_bases(kind: type[Part]) -> list[str]:
    return list(dict.fromkeys(base.__module__ for base in kind.__mro__ if issubclass(base, Part)))


def _below(package: str) -> list[str]:
    return [name for name in sorted(sys.modules) if f"{name}.".startswith(f"{package}.")]


def _is_of_a_user(module: str, tops: set[str]) -> bool:
    """Tell if a loaded module is of a plug-in's package, or is the user's for another reason: it is not ours, and of no
    installed package."""
    top = _top(module)
    if top in OURS:
        return False
    return top in tops or not str(_path_of(module) or INSTALLED[0]).startswith(INSTALLED)


def _top(module: str) -> str:
    return module.partition(".")[0]


def _path_of(module: str) -> str | None:
    path: Any = getattr(sys.modules.get(module), "__file__", None)
    return path if isinstance(path, str) else None


def _files(modules: Iterable[str]) -> list[_File]:
    return [file for module in modules for file in _file(module)]


def _file(module: str) -> Iterator[_File]:
    """Yield the file of a loaded module. A module without a readable file, such as one in an archive, has none."""
    path = _path_of(module)
    state = state_of(path) if path is not None else None
    if path is None or state is None:
        return
    try:
        content = Path(path).read_bytes()
    except OSError:
        return
    depth = module.count(".") + (2 if hasattr(sys.modules[module], "__path__") else 1)
    yield _File("/".join(Path(path).parts[-depth:]), path, state, content)
