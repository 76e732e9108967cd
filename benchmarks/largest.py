"""The largest requests that a client can send, by kind.

Most kinds are refused for their size. If a smaller request of the kind is accepted, the largest such one is here, too.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

BODY_BYTES = 1_000_000  # ``Settings.max_body_bytes``
YAML_BYTES = 32 * 1024
HEAD_BYTES = 60_000  # a little less than ``service.connections.HEAD_BYTES``

JSON = {"Content-Type": "application/json"}
YAML = {"Content-Type": "application/yaml"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
TASK = '"task":{"name":"permuted_digits","profile":"smoke"}'
SOURCE = '"provenance":{"source":"https://example.org"}'
LR = '"training.optimizer.lr"'


@dataclass(frozen=True, slots=True)
class Large:
    """Large request. ``more_headers`` is the number of extra headers that are sent with it."""

    method: str
    path: str
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    more_headers: int = 0


def _post(path: str, body: str, headers: Mapping[str, str] = JSON) -> Large:
    return Large("POST", path, body.encode(), headers)


def _get(path: str, **headers: str) -> Large:
    return Large("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})


def _full(unit: str, size: int = BODY_BYTES - 1000) -> str:
    return unit * (size // len(unit))


def _object(*fields: str) -> str:
    return "{" + ",".join(fields) + "}"


def _list(values: Iterable[object]) -> str:
    return "[" + ",".join(map(str, values)) + "]"


def _spec(*fields: str) -> Large:
    return _post("/v1/experiments?dry_run=true", _object(TASK, *fields))


def _sweep(*fields: str, of: str = "") -> Large:
    spec = '"spec":' + _object(*filter(None, (TASK, of)))
    return _post("/v1/sweeps?dry_run=true", _object(spec, *fields))


def _claim(*fields: str) -> Large:
    return _post("/v1/results", _object(TASK, *fields))


def _yaml(text: str) -> Large:
    return _post("/v1/experiments", text, YAML)


def _form(path: str, text: str) -> Large:
    return _post(path, text, FORM)


def _keys(count: int, value: str = "0") -> str:
    return ",".join(f'"k{k}":{value}' for k in range(count))


def _query(path: str, name: str, value: str, count: int) -> Large:
    return _get(f"{path}?" + "&".join(f"{name}={value.format(k)}" for k in range(count)))


QUOTED = '"x",'
TWICE = _object(_keys(80_000), '"k79999":0')
A_THOUSAND = _list(range(1000))
CELLS = _object(f"{LR}:{_list(f'{k}e-6' for k in range(1, 1001))}")
LETTERS = '"' + _full("x", 900_000) + '"'
VALUES = _list(['{"seed":0,"value":0.5}'] * 40_000)
CLAIM_IN_YAML = f"{{{TASK},{SOURCE},values: {_list(f'{{seed: {k}, value: 0.5{k:06}}}' for k in range(1000))}}}"
IMPOSSIBLE = _list(f'{{"seed":{k},"value":7}}' for k in range(1000))

OF_JSON = {
    "keys, the last twice": _post("/v1/experiments", TWICE),
    "keys, the last twice, of a sweep": _post("/v1/sweeps", TWICE),
    "keys, the last twice, of a claim": _post("/v1/results", TWICE),
    "unknown fields": _spec(_keys(80_000)),
    "unknown fields of a part": _spec(f'"norm":{_object(_keys(80_000))}'),
    "a few thousand unknown fields": _spec(_keys(14_000)),
    "a long name": _spec(f"{LETTERS}:0"),
    "a long tag": _post("/v1/experiments", f'{{"task":{{"name":{LETTERS}}}}}'),
    "a long text": _spec(f'"labels":{{"a":{LETTERS}}}'),
    "lists in lists": _spec('"norm":' + "[" * 499_000 + "]" * 499_000),
    "objects in objects": _spec('"norm":' + _full('{"a":', 800_000) + "0" + "}" * 160_000),
    "numbers": _spec(f'"seeds":[{_full("0,")}0]'),
    "seeds": _spec(f'"seeds":{A_THOUSAND}'),
    "texts for seeds": _spec(f'"seeds":[{_full(QUOTED, 100_000)}0]'),
    "infinite numbers": _spec(f'"seeds":[{_full("1e999,", 150_000)}0]'),
    "digits of a number": _spec(f'"seeds":[{_full("9")}]'),
    "long numbers": _spec(f'"seeds":[{_full("9" * 4299 + ",")}0]'),
    "labels": _spec(f'"labels":{_object(_keys(14_000, QUOTED[:-1]))}'),
    "white space": _post("/v1/experiments", _full(" ") + "{}"),
    "halves of characters": _spec('"labels":{"a":"' + _full("\\ud800") + '"}'),
}
OF_CLAIMS = {
    "unknown fields of a claim": _claim(_keys(80_000)),
    "a claim's values": _claim(SOURCE, f'"values":{VALUES}'),
    "a claim's values in YAML": _post("/v1/results", CLAIM_IN_YAML, YAML),
    "a claim of objects": _claim(SOURCE, f'"values":{_list(["{}"] * 25_000)}'),
    "a claim's impossible values": _claim(SOURCE, f'"values":{IMPOSSIBLE}'),
}
OF_SWEEPS = {
    "a sweep's cells": _sweep(f'"grid":{CELLS}'),
    "a sweep's runs": _sweep(f'"grid":{CELLS}', of=f'"seeds":{_list(range(10))}'),
    "unknown fields of a sweep": _sweep(_keys(80_000), '"grid":{"norm.eps":[1]}'),
    "a sweep of cells that do not fit": _sweep(f'"grid":{{"norm.nothing":{A_THOUSAND}}}'),
    "a sweep of a long value": _sweep(f'"grid":{CELLS[:-1]},"norm":[{LETTERS}]}}'),
    "a sweep of a large spec": _sweep(f'"grid":{CELLS}', of=f'"norm":{_object(_keys(13_000))}'),
    "a sweep of labels": _sweep(f'"grid":{CELLS}', of=f'"labels":{_object(_keys(13_000, QUOTED[:-1]))}'),
    "a sweep below a text": _sweep(
        f'"grid":{{"norm.eps.x":{A_THOUSAND}}}', of='"norm":{"eps":"' + _full("x", 9_000) + '"}'
    ),
    "a sweep of a deep field": _sweep('"grid":{"norm' + _full(".a", 9_000) + '":[1]}'),
    "a sweep of nested fields": _sweep(f'"grid":{{"training":{_object(_keys(9_000, "[1]"))}}}'),
    "a sweep of nested draws": _sweep(f'"random":{{"training":{_object(_keys(9_000, "[1]"))}}}'),
    "a sweep of equal draws": _sweep(
        f'"random":{{"norm.eps":{{"choice":[{_full("1,", 40_000)}1]}}}}', '"samples":1000'
    ),
    "a sweep of long draws": _sweep(
        '"random":{"norm.eps":{"choice":["' + _full("x", 9_000) + '",1]},"norm.a":{"uniform":[0,5e-324]}}',
        '"samples":1000',
    ),
    "a sweep's values": _sweep(f'"grid":{{"norm.eps":[{_full("1,", 50_000)}1]}}'),
    "a sweep's axes": _sweep(f'"grid":{_object(_keys(9_000, "[1]"))}'),
    "a sweep of very many draws": _sweep('"random":{"norm.eps":{"uniform":[0,1]}}', '"samples":' + "9" * 300),
}
OF_YAML = {
    "YAML of a megabyte": _yaml(_full("k: v\n")),
    "YAML": _yaml(f"a: [{_full('0,', YAML_BYTES - 100)}]"),
    "YAML of keys": _yaml("".join(f"{k}: 0\n" for k in range(3400)) + "3399: 0\n"),
    "YAML of digits": _yaml("a: " + _full("9", YAML_BYTES - 100)),
    "YAML of a number with spaces": _yaml("a: 1" + _full("_", YAML_BYTES - 100)),
    "YAML of a hexadecimal number": _yaml(
        "task: {name: permuted_digits}\nseeds: [0x" + _full("f", YAML_BYTES - 100) + "]"
    ),
    "YAML of minutes": _yaml("task: {name: permuted_digits}\nseeds: [1" + _full(":59", YAML_BYTES - 100) + "]"),
    "YAML of a number as a name": _yaml("0x" + _full("f", YAML_BYTES - 100) + ": 1"),
    "YAML of anchors": _yaml("".join(f"a{k}: &a{k} 0\n" for k in range(2000))),
    "YAML of aliases": _yaml(f"a: &a [{_full('0,', 180)}0]\nb: [{_full('*a,', 2700)}*a]"),
    "YAML of merges": _yaml("a: &a " + _object(*(f"k{k}: 0" for k in range(100))) + f"\nb: {{<<: [{'*a,' * 400}*a]}}"),
    "YAML of documents": _yaml(_full("--- 0\n", YAML_BYTES - 100)),
    "YAML of comments": _yaml(_full("#\n", YAML_BYTES - 100)),
    "YAML of quotes": _yaml('a: "' + _full("\\x41", YAML_BYTES - 100) + '"'),
    "YAML of a block": _yaml("a: |\n" + _full(" x\n", YAML_BYTES - 100)),
    "YAML of lists in lists": _yaml("a: " + _full("[", YAML_BYTES - 100)),
    "YAML of dashes": _yaml(_full("- ", YAML_BYTES - 100)),
    "YAML of a long name": _yaml("? " + _full("x", YAML_BYTES - 100) + "\n: 0"),
}
OF_FORMS = {
    "fields at /theme": _form("/theme", _full("a=&")),
    "fields at /sign-in": _form("/sign-in", _full("a=&")),
    "fields at /sign-out": _form("/sign-out", _full("a=&")),
    "fields at /submit": _form("/submit", _full("a=&")),
    "fields of a spec at /submit": _form("/submit", "&".join(f"task.a{k}=1" for k in range(400))),
    "a deep field at /submit": _form("/submit", "task" + _full(".a", 250_000) + "=1"),
    "a long field at /submit": _form("/submit", "labels=" + _full("a%3A1%0A", 250_000)),
    "seeds at /submit": _form("/submit", "task.name=permuted_digits&seeds=" + _full("1+", 250_000)),
    "YAML at /submit": _form("/submit", "edited=yaml&yaml=a%3A+%5B" + _full("0%2C", 120_000) + "0%5D"),
    "escapes at /submit": _form("/submit", "yaml=" + _full("%41", 290_000)),
    "a long way back at /theme": _form("/theme", "theme=dark&back=/" + _full("x")),
    "a long key at /sign-in": _form("/sign-in", "key=" + _full("x")),
}
OF_HEADS = {
    "labels": _query("/v1/experiments", "label", "k{}:v", 2000),
    "labels, as many as there may be": _query("/v1/experiments", "label", "k{}:v", 32),
    "labels of a page": _query("/experiments", "label", "k{}:v", 2000),
    "a long label": _get("/v1/experiments?label=a:" + _full("x", HEAD_BYTES)),
    "unknown parameters": _get("/v1/experiments?" + "&".join(f"labl{k}" for k in range(7000))),
    "empty parameters": _get("/v1/experiments?" + "&" * HEAD_BYTES),
    "a long parameter's name": _get("/v1/experiments?" + _full("task", HEAD_BYTES)),
    "a long task": _get("/v1/experiments?task=" + _full("permuted", HEAD_BYTES)),
    "a long sweep": _get("/v1/experiments?sweep=" + _full("x", HEAD_BYTES)),
    "a long cursor": _get("/v1/experiments?cursor=" + _full("x", HEAD_BYTES)),
    "a long limit": _get("/v1/experiments?limit=" + _full("9", HEAD_BYTES)),
    "fingerprints": _query("/v1/comparisons", "fingerprint", "abcdef{:04d}", 2500),
    "fingerprints of a page": _query("/compare", "fingerprint", "abcdef{:04d}", 2500),
    "series": _query("/v1/runs/run_0/measurements", "series", "a{}", 5000),
    "a long problem": _get("/v1/leaderboards/permuted_digits?problem=" + _full("x", HEAD_BYTES)),
    "a long name of a board": _get("/v1/leaderboards/" + _full("permuted_digits", HEAD_BYTES)),
    "a long name of a method": _get("/v1/methods/" + _full("layer_norm", HEAD_BYTES)),
    "a long id": _get("/v1/runs/run_" + _full("0", HEAD_BYTES)),
    "slashes": _get("/v1/runs/x/artifacts" + _full("/a", HEAD_BYTES)),
    "headers": Large("GET", "/v1/experiments", more_headers=6000),
    "media types": _get("/v1/experiments", Accept=_full("a/b,", HEAD_BYTES)),
    "encodings": _get("/v1/experiments", Accept_Encoding=_full("a,", HEAD_BYTES)),
    "tags": _get("/v1/experiments", If_None_Match=_full('"a",', HEAD_BYTES)),
    "cookies": _get("/experiments", Cookie=_full("a=b;", HEAD_BYTES)),
    "a quoted cookie": _get("/experiments", Cookie='theme="' + _full("\\1", HEAD_BYTES)),
    "a long key": _get("/v1/experiments", Authorization="Bearer " + _full("x", HEAD_BYTES)),
    "a long event's id": _get("/v1/runs/run_0/events", Last_Event_ID=_full("1-20,", HEAD_BYTES)),
    "a long Idempotency-Key": _post(
        "/v1/experiments", _object(TASK), {**JSON, "Idempotency-Key": _full("x", HEAD_BYTES)}
    ),
    "a long Content-Type": _post("/v1/experiments", _object(TASK), {"Content-Type": "a/b" + _full(";a=b", HEAD_BYTES)}),
}
LARGEST: Mapping[str, Large] = {**OF_JSON, **OF_CLAIMS, **OF_SWEEPS, **OF_YAML, **OF_FORMS, **OF_HEADS}
