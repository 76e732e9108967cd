"""Reader of specs in YAML or JSON. It reads 1e-3 as a number, and refuses a key that stands twice in an object."""

import codecs
import json
import math
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from normcore.spec.messages import quote_value
from normcore.spec.yaml_errors import in_one_line

MAX_NODES = 100_000  # values and keys, with aliases written out; a spec with 1,000 seeds has some 1,100
MAX_LEVELS = 50
MERGE = "tag:yaml.org,2002:merge"
MAX_DIGITS = 308  # digits of a whole number; a longer number is larger than every float
NUMBER = re.compile(r"^[-+]?(\d[\d_]*(\.[\d_]*)?|\.\d[\d_]*)[eE][-+]?\d+$")
MARKS = (  # UTF-32 first, because the mark of UTF-32-LE begins with that of UTF-16-LE
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
NOT_JSON = {"tag:yaml.org,2002:timestamp", "tag:yaml.org,2002:value"}  # a date is text, as in JSON

_Trail = tuple[Any, str | int] | None
"""Path of a value as a linked list: the trail of the list or object that holds the value, and its index or key there.
Values of one list or object share its trail."""


class NotYaml(ValueError):
    """Error: the text is not YAML, or it is YAML for objects that are not plain values."""


class _Loader(yaml.SafeLoader):
    """Loader of YAML that has only JSON's kinds of values. It reads 1e-3 as a number, as people mean it; YAML 1.1 reads
    1e-3 as text, because it has no dot."""

    _level = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        self._level += 1  # PyYAML's time grows with the square of the levels
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
    """Writer of YAML. It quotes a text that ``_Loader`` would otherwise read as another kind of value."""

    def ignore_aliases(self, data: Any) -> bool:
        return True

    def represent_sequence(self, tag: str, sequence: Any, flow_style: bool | None = None) -> yaml.SequenceNode:
        return super().represent_sequence(tag, sequence, flow_style=True)


for kind in (_Loader, _Dumper):
    kind.add_implicit_resolver("tag:yaml.org,2002:float", NUMBER, list("-+.0123456789"))


def read_spec(path: Path) -> Any:
    """Read a spec from a file, without validation.

    Raises:
        ValueError: the file is neither YAML nor JSON, or has a key twice.
        OSError: the file cannot be read.
    """
    try:
        return load_yaml(_text(path.read_bytes()))
    except NotYaml as error:
        raise ValueError(f"{path} is neither YAML nor JSON: {error}") from error
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _text(content: bytes) -> str:
    """Decode the content of a file: UTF-8, or UTF-16 or UTF-32 with a byte order mark, as Windows saves them.

    Raises:
        NotYaml: the content is in another encoding.
    """
    encoding = next((name for mark, name in MARKS if content.startswith(mark)), "utf-8")
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise NotYaml(f"line {line}: the text is not encoded in UTF-8; save it as UTF-8") from error


def load_json(text: str | bytes) -> Any:
    """Read a spec in JSON. The result may have NaN and infinite numbers; ``not_json`` finds them.

    Raises:
        json.JSONDecodeError: the text is not JSON.
        ValueError: the text is JSON, but has a key twice in one object, or too many levels.
    """
    try:
        return json.loads(text, object_pairs_hook=_once, parse_int=_whole)
    except RecursionError:
        raise ValueError("it is nested too deeply; a spec has three levels") from None


def _whole(digits: str) -> int | float:
    """Convert digits to a whole number. More than ``MAX_DIGITS`` digits give infinity, because the time of a conversion
    grows with the square of the digits."""
    return int(digits) if len(digits) <= MAX_DIGITS else _beyond(digits)


def _beyond(digits: str) -> float:
    return float("-inf" if digits.startswith("-") else "inf")


def load_yaml(text: str) -> Any:
    """Read a spec in YAML. The result may have NaN and infinite numbers; ``not_json`` finds them.

    Raises:
        NotYaml: the text is not YAML.
        ValueError: the text is YAML, but has a key twice in one object, or is too large for a spec.
    """
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.YAMLError as error:
        raise NotYaml(in_one_line(error, text)) from error


def not_json(written: Any) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield path and value of everything that JSON does not have: numbers that are not finite, and other kinds of
    values. A list or an object that stands in several places is searched at the first place only."""
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
    """Write a spec in YAML as people do, each list on one line. ``load_yaml`` reads the same spec from the text."""
    return yaml.dump(spec, Dumper=_Dumper, sort_keys=False, default_flow_style=False, allow_unicode=True)


def _once(pairs: Sequence[tuple[Any, Any]]) -> dict[Any, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError(f"the key {quote_value(_first_double(pairs))} stands twice in one object; remove one of them")
    return found


def _first_double(pairs: Sequence[tuple[Any, Any]]) -> Any:
    """Find the first key that already stands earlier in ``pairs``."""
    seen = set[Any]()
    for key, _ in pairs:
        if key in seen:
            return key
        seen.add(key)
    raise LookupError("every key is another")


def _check_size(root: yaml.Node | None) -> None:
    """Check the size of a YAML text with all aliases written out.

    Raises:
        ValueError: there are more than ``MAX_NODES`` values and keys, or the text would be endless.
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
        raise ValueError(f"it has over {MAX_NODES:,} values with aliases written out, too many for a spec")
