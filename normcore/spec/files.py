"""Read a spec as a user writes it, in YAML or JSON: a number is a number, and nothing is said twice."""

import codecs
import json
import math
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from normcore.spec.messages import quoted
from normcore.spec.yaml_errors import in_one_line

MAX_NODES = 100_000  # values, keys and what aliases repeat of them; a spec with 1,000 seeds has some 1,100
MAX_LEVELS = 50
MERGE = "tag:yaml.org,2002:merge"
MAX_DIGITS = 308  # of a whole number; those that are longer are beyond every float
NUMBER = re.compile(r"^[-+]?(\d[\d_]*(\.[\d_]*)?|\.\d[\d_]*)[eE][-+]?\d+$")
MARKS = (  # the longer ones first: UTF-32's begins as UTF-16's does
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
NOT_JSON = {"tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:value"}  # a date is text, as in JSON

_Trail = tuple[Any, str | int] | None
"""The trail to what a value stands in, and its key or place there; thousands of levels share what they can."""


class NotYaml(ValueError):
    """The text is no YAML, or YAML that stands for more than values."""


class _Loader(yaml.SafeLoader):
    """YAML that means what JSON can say. YAML 1.1 reads 1e-3 as text for want of a dot; people mean a number."""

    _level = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        self._level += 1  # PyYAML takes time in the square of the levels
        if self._level > MAX_LEVELS:
            raise ValueError("it is nested too deeply; a spec has three levels")
        node = super().compose_node(parent, index)
        self._level -= 1
        return node

    def compose_document(self) -> yaml.Node | None:
        root = super().compose_document()
        _check_size(root)
        return root

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value if key.tag != MERGE]
        _once([(key, None) for key in keys if isinstance(key, Hashable)])
        return super().construct_mapping(node, deep)

    def construct_whole(self, node: yaml.ScalarNode) -> int | float:
        return super().construct_yaml_int(node) if len(node.value) <= MAX_DIGITS else _beyond(node.value)


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in NOT_JSON]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_Loader.yaml_constructors = {
    tag: construct
    for tag, construct in yaml.SafeLoader.yaml_constructors.items()
    if tag is None or tag.rpartition(":")[2] in ("null", "bool", "int", "float", "str", "seq", "map")
} | {"tag:yaml.org,2002:int": _Loader.construct_whole}


class _Dumper(yaml.SafeDumper):
    """Puts into quotes what ``_Loader`` would read as something else than text."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_sequence(self, tag: str, sequence: Any, flow_style: bool | None = None) -> yaml.SequenceNode:
        return super().represent_sequence(tag, sequence, flow_style=True)


for kind in (_Loader, _Dumper):
    kind.add_implicit_resolver("tag:yaml.org,2002:float", NUMBER, list("-+.0123456789"))


def read_spec(path: Path) -> Any:
    """Read a spec from a file, without validation.

    Raises:
        ValueError: the file is neither YAML nor JSON, or says something twice.
        OSError: the file cannot be read.
    """
    try:
        return load_yaml(_text(path.read_bytes()))
    except NotYaml as error:
        raise ValueError(f"{path} is neither YAML nor JSON: {error}") from error
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _text(content: bytes) -> str:
    """The text of a file: UTF-8, or UTF-16 and UTF-32 that begin with their mark, as Windows saves them.

    Raises:
        NotYaml: it is in another encoding.
    """
    encoding = next((name for mark, name in MARKS if content.startswith(mark)), "utf-8")
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise NotYaml(f"line {line}: the text is not encoded in UTF-8; save it as UTF-8") from error


def load_json(text: str | bytes) -> Any:
    """A spec in JSON, which may have NaN and numbers beyond every float; ``not_json`` finds them.

    Raises:
        json.JSONDecodeError: the text is not JSON.
        ValueError: it is, and has a key twice, or too many levels.
    """
    try:
        return json.loads(text, object_pairs_hook=_once, parse_int=_whole)
    except RecursionError:
        raise ValueError("it is nested too deeply; a spec has three levels") from None


def _whole(digits: str) -> int | float:
    """The number, or infinity: reading digits takes time in the square of their number."""
    return int(digits) if len(digits) <= MAX_DIGITS else _beyond(digits)


def _beyond(digits: str) -> float:
    return float("-inf" if digits.startswith("-") else "inf")


def load_yaml(text: str) -> Any:
    """A spec in YAML, which may have numbers as ``load_json`` has it.

    Raises:
        NotYaml: the text is not YAML.
        ValueError: it is, and has a key twice, or is beyond the size of a spec.
    """
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.YAMLError as error:
        raise NotYaml(in_one_line(error, text)) from error


def not_json(written: Any) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """The paths of values that JSON cannot say, each with its value: numbers that are not finite, and what is no value
    of JSON's. A part that stands in several places is looked at in the first."""
    seen = set[int]()
    left: list[tuple[_Trail, Any]] = [(None, written)]
    while left:
        trail, value = left.pop()
        inner: list[tuple[Any, Any]] = []
        if isinstance(value, Mapping | list | tuple):
            if id(value) not in seen:
                seen.add(id(value))
                inner = list(value.items() if isinstance(value, Mapping) else enumerate(value))
        elif isinstance(value, float):
            if not math.isfinite(value):
                yield _path(trail), value
        elif not (value is None or isinstance(value, str | int)):
            yield _path(trail), value
        left += [((trail, step), part) for step, part in reversed(inner)]


def _path(trail: _Trail) -> tuple[str | int, ...]:
    steps = []
    while trail is not None:
        trail, step = trail
        steps.append(step if isinstance(step, int) else str(step))
    return tuple(reversed(steps))


def dump_yaml(spec: Any) -> str:
    """A spec as people write it, each list on one line; ``load_yaml`` reads the same from it."""
    return yaml.dump(spec, Dumper=_Dumper, sort_keys=False, default_flow_style=False, allow_unicode=True)


def _once(pairs: Sequence[tuple[Any, Any]]) -> dict[Any, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(f"the key {quoted(_first_double(pairs))} stands twice in one object; remove one of them")
    return found


def _first_double(pairs: Sequence[tuple[Any, Any]]) -> Any:
    """The first key that stands there before."""
    seen = set[Any]()
    for key, _ in pairs:
        if key in seen:
            return key
        seen.add(key)
    raise LookupError("every key is another")


def _check_size(root: yaml.Node | None) -> None:
    """Raises:
    ValueError: with its aliases written out, the text would be beyond all use, or endless.
    """
    sizes: dict[int, float] = {}

    def size(node: yaml.Node) -> float:
        if id(node) not in sizes:
            sizes[id(node)] = float("inf")  # an alias to its own ancestor is a cycle
            inner = [] if isinstance(node, yaml.ScalarNode) else node.value
            nodes = [part for item in inner for part in (item if isinstance(item, tuple) else (item,))]
            sizes[id(node)] = 1 + sum(map(size, nodes))
        return sizes[id(node)]

    if root is not None and size(root) > MAX_NODES:
        raise ValueError(f"it has over {MAX_NODES:,} values, aliases written out; no spec has")
