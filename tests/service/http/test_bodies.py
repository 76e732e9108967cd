"""A spec may be JSON or YAML. A body with duplicate keys, or with content that never ends, is refused."""

import asyncio
import json
import time
from typing import Any

import pytest
from starlette.testclient import TestClient
from starlette.types import Message

from service.http.bodies import A_RESULT, A_SWEEP
from tests.service.sample_runs import written

YAML = b"""
task: {name: permuted_digits, profile: smoke}
norm: {method: layer_norm, eps: 1e-3}  # text for YAML 1.1, a number for people
labels: {day: 2026-11-22}
"""
FLOW = (
    b"{task: {name: permuted_digits, profile: smoke}, norm: {method: layer_norm, eps: 1e-3}, labels: {day: 2026-11-22}}"
)
FORM = "application/x-www-form-urlencoded"


def post(client: TestClient, content: bytes, kind: str | None) -> Any:
    return client.post("/v1/experiments", content=content, headers={"Content-Type": kind} if kind else {})


@pytest.mark.parametrize("content", [YAML, FLOW], ids=["blocks", "flow"])
@pytest.mark.parametrize("kind", [None, FORM, "text/plain", "application/yaml", "text/yaml; charset=utf-8"])
def test_yaml_is_a_spec_like_any_other(shared_client: TestClient, kind: str | None, content: bytes) -> None:
    answer = post(shared_client, content, kind)
    assert answer.status_code == 201, answer.text
    assert answer.json()["spec"]["norm"]["eps"] == 1e-3
    assert answer.json()["spec"]["labels"] == {"day": "2026-11-22"}


@pytest.mark.parametrize("kind", [None, FORM, "text/plain", "application/json"])
def test_json_needs_no_content_type(shared_client: TestClient, kind: str | None) -> None:
    assert post(shared_client, json.dumps(written()).encode(), kind).status_code == 201


TWICE: dict[str, tuple[bytes, str]] = {
    "JSON": (b'{"task": {"name": "permuted_digits"}, "task": {"name": "char_lm"}}', "task"),
    "JSON within": (b'{"task": {"name": "char_lm", "name": "permuted_digits"}}', "name"),
    "YAML": (b"task: {name: char_lm}\nseeds: [0]\ntask: {name: char_lm}\n", "task"),
    "YAML within": (b"task:\n  name: char_lm\n  name: char_lm\n", "name"),
    "YAML in flow style": (b"{task: {name: char_lm}, task: {name: char_lm}}", "task"),
}


@pytest.mark.parametrize(("content", "key"), TWICE.values(), ids=TWICE)
def test_a_duplicate_key_is_refused_by_name(shared_client: TestClient, content: bytes, key: str) -> None:
    answer = post(shared_client, content, None)
    assert answer.status_code == 400
    detail = answer.json()["detail"]
    assert f"'{key}' stands twice" in detail
    assert "neither" not in detail, "it can be read, and says something twice"


BOMBS: dict[str, bytes] = {
    "aliases of aliases": b"a0: &a0 [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
    + b"".join(b"a%d: &a%d [%s]\n" % (n, n, b",".join([b"*a%d" % (n - 1)] * 10)) for n in range(1, 10)),
    "an alias to what it stands in": b"task: &t [*t]\n",
    "levels": b"task: " + b"[" * 20_000,
    "dashes": b"- " * 16_000,
    "an object of Python's": b"task: !!python/object/apply:os.system [true]\n",
    "more than any spec": b"task: " + b"x" * 40_000,
    "text": b"hello",
    "a list": b"- task\n- norm\n",
}


@pytest.mark.parametrize("content", BOMBS.values(), ids=BOMBS)
def test_yaml_that_is_no_spec_is_refused_soon(shared_client: TestClient, content: bytes) -> None:
    began = time.monotonic()
    answer = post(shared_client, content, "application/yaml")
    assert answer.status_code in (400, 413)
    assert answer.headers["content-type"] == "application/problem+json"
    assert time.monotonic() - began < 10


def test_a_body_declared_as_json_is_not_read_as_yaml(shared_client: TestClient) -> None:
    answer = post(shared_client, YAML, "application/json")
    assert answer.status_code == 400
    assert "not JSON" in answer.json()["detail"]
    assert "send YAML as application/yaml" in answer.json()["detail"]


@pytest.mark.parametrize("kind", [None, FORM, "application/json", "application/yaml"])
@pytest.mark.parametrize("content", [b"", b" \n"])
def test_an_empty_body_is_called_empty(shared_client: TestClient, kind: str | None, content: bytes) -> None:
    answer = post(shared_client, content, kind)
    assert answer.status_code == 400
    assert "the body is empty; a spec is an object, as" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("path", "explained"),
    [
        ("/v1/experiments", 'a spec is an object, as {"task": '),
        ("/v1/sweeps", 'a sweep is an object, as {"spec": '),
        ("/v1/results", 'a result is an object, as {"task": '),
    ],
)
@pytest.mark.parametrize(("content", "wrong"), [(b"", "the body is empty"), (b"a text", "the body holds no object")])
def test_a_body_without_an_object_is_refused_with_an_example(
    shared_client: TestClient, path: str, explained: str, content: bytes, wrong: str
) -> None:
    answer = shared_client.post(path, content=content, headers={"Content-Type": FORM})
    assert answer.status_code == 400
    assert answer.json()["detail"].startswith(f"{wrong}; {explained}")
    assert answer.json()["detail"].endswith("; with curl, send a file by --data-binary @FILE")


@pytest.mark.parametrize(("path", "example"), [("/v1/sweeps", A_SWEEP), ("/v1/results", A_RESULT)])
def test_an_example_of_a_refusal_is_accepted(shared_client: TestClient, path: str, example: str) -> None:
    sent = json.loads(example.partition(" as ")[2])
    answer = shared_client.post(path, json=sent | ({"norm": {"method": "none"}} if "values" in sent else {}))
    assert answer.status_code == 201, answer.text


UNREADABLE: dict[str, tuple[bytes, list[str]]] = {
    "neither": (b"{task: [", ["neither JSON (Expecting property name", "nor YAML", "--data-binary"]),
    "braces": (b"{" * 20_000, ["cannot be read: it is nested too deeply"]),
    "long": (b"{task: " + b"x" * 40_000, ["neither JSON", "nor YAML: it has 40007 bytes, and YAML may have 32768"]),
    "text": (b"permuted_digits", ["holds no object"]),
    "not UTF-8": (b"\xff\xfe{}", ["neither JSON", "nor YAML: 'utf-8' codec can't decode"]),
}


@pytest.mark.parametrize(("content", "said"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_body_that_is_neither_json_nor_yaml_is_refused_with_both_reasons(
    shared_client: TestClient, content: bytes, said: list[str]
) -> None:
    began = time.monotonic()
    answer = post(shared_client, content, FORM)
    assert answer.status_code == (413 if len(content) > 32_768 else 400)
    assert all(text in answer.json()["detail"] for text in said), answer.text
    assert time.monotonic() - began < 10


def test_numbers_that_json_lacks_are_refused_in_yaml(shared_client: TestClient) -> None:
    answer = post(shared_client, b"task: {name: permuted_digits}\nnorm: {method: layer_norm, eps: .nan}\n", None)
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["loc"] == ["norm", "eps"]


RESULT = """{"task": {"name": "permuted_digits"}, "provenance": {"source": "https://example.org"}, "values":
    [{"seed": 10, "value": %s}, {"seed": 11, "value": 0.5}, {"seed": 12, "value": %s}]}"""


@pytest.mark.parametrize(
    ("path", "content", "wrong"),
    [
        ("/v1/results", RESULT % ("NaN", "1e999"), {"values.0.value": "NaN", "values.2.value": "Infinity"}),
        ("/v1/sweeps", '{"spec": {}, "grid": {"norm.eps": [0.1, -Infinity]}}', {"grid.norm.eps.1": "-Infinity"}),
        ("/v1/sweeps", '{"spec": {"norm": {"eps": NaN}}, "grid": {"norm": [{}]}}', {"spec.norm.eps": "NaN"}),
        ("/v1/experiments", '{"norm": {"eps": NaN}, "seeds": [0, NaN]}', {"norm.eps": "NaN", "seeds.1": "NaN"}),
        ("/v1/experiments", "NaN", {"": "NaN"}),
    ],
)
@pytest.mark.parametrize("kind", ["application/json", FORM])
def test_numbers_that_json_lacks_are_named_by_their_paths(
    shared_client: TestClient, path: str, content: str, wrong: dict[str, str], kind: str
) -> None:
    answer = shared_client.post(path, content=content, headers={"Content-Type": kind})
    assert answer.status_code == 422, answer.text
    told = {".".join(map(str, error["loc"])): error["msg"] for error in answer.json()["errors"]}
    assert told == {loc: f"{number} is not a finite number; give a finite number" for loc, number in wrong.items()}
    assert {error["type"] for error in answer.json()["errors"]} == {"finite_number"}


def test_at_most_a_hundred_numbers_that_json_lacks_are_named(shared_client: TestClient) -> None:
    answer = post(shared_client, b'{"seeds": [' + b", ".join([b"NaN"] * 20_000) + b"]}", "application/json")
    assert answer.status_code == 422
    assert [error["loc"] for error in answer.json()["errors"]] == [["seeds", k] for k in range(100)]


TOO_LARGE: dict[str, tuple[bytes, int, str]] = {
    "values": (b'{"seeds": [' + b"0," * 30_000 + b"0]}", 413, "the body holds over 30,000 values"),
    "levels": (b'{"norm": ' + b"[" * 50 + b"]" * 50 + b"}", 400, "the body is nested over 50 levels deep"),
    "a text": (b'{"labels": {"a": "' + b"x" * 10_001 + b'"}}', 422, "labels.a: a text has 10,001 characters"),
    "a name": (b'{"labels": {"' + b"x" * 10_001 + b'": "a"}}', 422, "labels: a text has 10,001 characters"),
    "a number": (b'{"seeds": [0, ' + b"9" * 309 + b"]}", 422, "seeds.1: Infinity is not a finite number"),
    "a number in YAML": (b"seeds: [0, 0x" + b"f" * 309 + b"]", 422, "seeds.1: Infinity is not a finite number"),
}


@pytest.mark.parametrize(("content", "status", "said"), TOO_LARGE.values(), ids=TOO_LARGE)
@pytest.mark.parametrize("path", ["/v1/experiments", "/v1/sweeps", "/v1/results"])
def test_a_body_larger_than_any_spec_is_refused_whatever_it_says(
    shared_client: TestClient, path: str, content: bytes, status: int, said: str
) -> None:
    answer = shared_client.post(path, content=content)
    assert answer.status_code == status, answer.text
    assert answer.json()["detail"].startswith(said)


def test_at_most_a_hundred_errors_are_listed_and_the_rest_counted(shared_client: TestClient) -> None:
    sent = {"task": {"name": "permuted_digits"}, **{f"field_{k}": 0 for k in range(1234)}}
    for path, unknown in (("/v1/experiments", 1234), ("/v1/results", 1234), ("/v1/sweeps", 1236)):
        errors = shared_client.post(path, json=sent).json()["errors"]
        listed = [error for error in errors if error["type"] == "unknown_field"]
        [more] = [error for error in errors if error["type"] == "more"]
        assert len(listed) >= 99
        assert more["loc"] == []
        assert more["msg"] == f"too many errors; {unknown - 100:,} more errors are not listed"


def test_a_long_name_is_repeated_only_in_part(shared_client: TestClient) -> None:
    answer = shared_client.post("/v1/experiments", json={"task": {"name": "permuted_digits"}, "x" * 5000: 0})
    assert answer.json()["errors"][0]["loc"] == ["x" * 100 + "…"]
    assert len(answer.content) < 1500


def test_a_body_is_read_no_further_than_the_limit(shared_client: TestClient) -> None:
    limit: int = shared_client.app.state.settings.max_body_bytes  # type: ignore[attr-defined]
    piece, taken, sent = b"[" * 10_000, 0, list[Message]()
    scope = {
        "type": "http",
        "method": "POST",
        "path": "/v1/experiments",
        "raw_path": b"/v1/experiments",
        "query_string": b"",
        "headers": [(b"host", b"testserver"), (b"transfer-encoding", b"chunked")],
    }

    async def receive() -> Message:
        nonlocal taken
        taken += 1
        return {"type": "http.request", "body": piece, "more_body": taken * len(piece) < 5 * limit}

    async def send(message: Message) -> None:
        sent.append(message)

    asyncio.run(shared_client.app(scope, receive, send))  # type: ignore[arg-type]
    assert sent[0]["status"] == 413
    assert taken == limit // len(piece) + 1
