"""Advice on wrong claims is accepted as it stands, and has no number or address that the user did not write."""

import json
import re
import time
from collections.abc import Sequence
from typing import Any

import pytest

from normcore.spec.files import load_yaml
from service.errors import Invalid
from service.leaderboards.submitted_results import advice
from service.leaderboards.submitted_results.reading import read

SPEC = "task: {name: permuted_digits, profile: smoke}\nnorm: {method: layer_norm}"
VALUES = "values: [{seed: 0, value: 0.9}]"
SOURCE = "provenance: {source: 'https://my.org/p'}"
ADVISED = re.compile(r"(?:write|add|as) (?=[\"{])(.*)")
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e-?\d+)?")


def refused(body: Any) -> dict[str, str]:
    """Messages by place of a claim; there are none if the claim is valid."""
    try:
        read(body)
    except Invalid as refusal:
        return {"/".join(map(str, error.loc)): error.msg for error in refusal.errors}
    return {}


def advised_line(message: str) -> str:
    """The line to write, which ends a message."""
    found = ADVISED.search(message)
    assert found is not None, message
    return found[1]


def put_at(body: dict[str, Any], place: Sequence[str], line: str) -> dict[str, Any]:
    """The claim with the line instead of what stood at the place; an object without a name replaces a list's item."""
    if line.startswith("{"):
        items = [json.loads(line) if str(k) == place[1] else item for k, item in enumerate(body["values"])]
        return {**body, "values": items}
    [(name, value)] = json.loads(f"{{{line}}}").items()
    return {**{key: given for key, given in body.items() if key != place[0]}, name: value}


def check_advice(text: str, where: str, line: str) -> None:
    """Check that the error at the place advises this line, and that the claim is accepted there with this line."""
    body = load_yaml(f"{SPEC}\n{text}")
    message = refused(body)[where]
    assert advised_line(message) == line
    assert set(NUMBER.findall(line)) <= set(NUMBER.findall(text)), "no number is invented"
    assert "example.org" not in message
    if "…" not in line:
        place = where.split("/")
        mended = put_at(body, place, line)
        assert not [loc for loc in refused(mended) if loc.split("/")[0] == place[0] and loc.startswith(where)]


@pytest.mark.parametrize(
    ("text", "where", "line"),
    [
        ("values: [{Seed: 0, Value: 0.9}]", "values/0/value", '{"seed": 0, "value": 0.9}'),
        ("values: [{step: 400, accuracy: 0.9}]", "values/0/seed", '{"seed": …, "value": 0.9}'),
        ("values: [{run: 3, accuracy: 0.9}]", "values/0/value", '{"seed": 3, "value": 0.9}'),
        ("values: [{run: 3, Accuracy: '0.9'}]", "values/0/Accuracy", '{"seed": 3, "value": 0.9}'),
        ("values: [{seed: 3}]", "values/0/value", '{"seed": 3, "value": …}'),
        ("values: [{seed: 3, loss: 0.2}]", "values/0/value", '{"seed": 3, "value": …}'),
        ("values: '0.9, 0.91'", "values", '"values": [{"seed": …, "value": 0.9}, {"seed": …, "value": 0.91}]'),
        ("values: {'0': '0.9'}", "values", '"values": [{"seed": 0, "value": 0.9}]'),
        ("values: {first: 0.9}", "values", '"values": [{"seed": …, "value": …}]'),
        ("values: {mean: 0.9, std: 0.01}", "values", '"values": [{"seed": …, "value": …}]'),
        (
            "values: {seeds: [3, 4], accuracy: [0.9, 0.91]}",
            "values",
            '"values": [{"seed": 3, "value": 0.9}, {"seed": 4, "value": 0.91}]',
        ),
        ("values: 0.9", "values", '"values": [{"seed": …, "value": 0.9}]'),
        ("values: about 0.9", "values", '"values": [{"seed": …, "value": …}]'),
        ("values: []", "values", '"values": [{"seed": …, "value": …}]'),
        ("values: [0.9, 0.91]", "values/1", '{"seed": …, "value": 0.91}'),
        ("values: [[3, 0.9]]", "values/0", '{"seed": 3, "value": 0.9}'),
        ("values: [[0.9, 3]]", "values/0", '{"seed": …, "value": …}'),
        ("values: [[3, 0.9, 1]]", "values/0", '{"seed": …, "value": …}'),
        ("values: [[3]]", "values/0", '{"seed": …, "value": …}'),
        ("values: ['0.9']", "values/0", '{"seed": …, "value": 0.9}'),
        ("results: [{seed: 0, value: 0.9}]", "values", '"values": [{"seed": 0, "value": 0.9}]'),
        ("results: [{seed: 0, value: 0.9}]", "results", '"values": [{"seed": 0, "value": 0.9}]'),
        ("accuracy: 0.9", "values", '"values": [{"seed": …, "value": 0.9}]'),
        ("seed: 3\nvalue: 0.9", "values", '"values": [{"seed": 3, "value": 0.9}]'),
        (
            "seeds: [3, 4]\nscores: [0.9, 0.91]",
            "values",
            '"values": [{"seed": 3, "value": 0.9}, {"seed": 4, "value": 0.91}]',
        ),
        ("seeds: [3, 4]\nscores: [0.9]", "values", '"values": [{"seed": …, "value": 0.9}]'),
        ("", "values", '"values": [{"seed": …, "value": …}]'),
        (
            "values: {0: 0.9, 1: 0.91, 2: 0.92, 3: 0.93}",
            "values",
            '"values": [{"seed": 0, "value": 0.9}, {"seed": 1, "value": 0.91}, …]',
        ),
        ("values: '0,91'", "values", '"values": [{"seed": …, "value": …}]'),
        ("values: '0,91; 0,92'", "values", '"values": [{"seed": …, "value": …}]'),
        ("values: 0.9,0.8", "values", '"values": [{"seed": …, "value": 0.9}, {"seed": …, "value": 0.8}]'),
        ("accuracy: {3: 0.9}", "values", '"values": [{"seed": 3, "value": 0.9}]'),
        ("result: {accuracy: 0.9}", "result", '"values": [{"seed": …, "value": 0.9}]'),
        ("score: 0.9\naccuracy: 0.8", "values", '"values": [{"seed": …, "value": …}]'),
    ],
)
def test_advice_on_values_is_accepted_and_has_no_number_of_its_own(text: str, where: str, line: str) -> None:
    check_advice(f"{text}\n{SOURCE}", where, line)


@pytest.mark.parametrize(
    ("text", "where", "line"),
    [
        ("source: https://my.org/p", "provenance", '"provenance": {"source": "https://my.org/p"}'),
        ("source: https://my.org/p", "source", '"provenance": {"source": "https://my.org/p"}'),
        ("", "provenance", '"provenance": {"source": …}'),
        ("provenance: a friend", "provenance", '"provenance": {"source": …}'),
        ("provenance: https://", "provenance", '"provenance": {"source": …}'),
        ("provenance: https://my.org/p", "provenance", '"provenance": {"source": "https://my.org/p"}'),
        ("provenance: ['https://my.org/p']", "provenance", '"provenance": {"source": "https://my.org/p"}'),
        ("provenance: ['http://a', 'http://b']", "provenance", '"provenance": {"source": …}'),
        ("provenance: https://ada:secret@my.org/p", "provenance", '"provenance": {"source": "https://my.org/p"}'),
        ("provenance: {url: 'https://my.org/p'}", "provenance/source", '"provenance": {"source": "https://my.org/p"}'),
        (
            "provenance: {Paper: 'https://my.org/p', code: abc}",
            "provenance/Paper",
            '"provenance": {"source": "https://my.org/p", "code": "abc"}',
        ),
        ("provenance: {}", "provenance/source", '"provenance": {"source": …}'),
        (
            "provenance: {url: 'https://my.org/p', code: 3}",
            "provenance/source",
            '"provenance": {"source": "https://my.org/p", "code": "3"}',
        ),
        (
            "provenance: {url: 'https://my.org/p', code: 'https://a:b@c.d', note: ''}",
            "provenance/source",
            '"provenance": {"source": "https://my.org/p", "code": …, "note": …}',
        ),
    ],
)
def test_advice_on_a_provenance_is_accepted_and_has_no_number_of_its_own(text: str, where: str, line: str) -> None:
    check_advice(f"{VALUES}\n{text}", where, line)


def test_two_fields_that_may_be_the_values_get_no_line() -> None:
    errors = refused(load_yaml(f"{SPEC}\nscore: 0.9\naccuracy: 0.8\n{SOURCE}"))
    assert "write" not in errors["score"] + errors["accuracy"]


def test_misspelled_source_is_answered_with_the_name_and_the_line() -> None:
    errors = refused(load_yaml(f"{SPEC}\n{VALUES}\nprovenance: {{sorce: 'https://my.org/p'}}"))
    assert errors["provenance/source"].endswith('write "provenance": {"source": "https://my.org/p"}')
    assert errors["provenance/sorce"].startswith("unknown field; did you mean 'source'? ")


def test_spec_inside_a_claim_is_moved_to_the_top_level() -> None:
    errors = refused(load_yaml(f"spec: {{task: {{name: permuted_digits}}}}\n{VALUES}\n{SOURCE}"))
    assert errors["spec"] == "unknown field; write the fields of the spec at the top level"


def test_long_text_of_numbers_is_refused_in_little_time() -> None:
    body = load_yaml(f"{SPEC}\n{SOURCE}")
    began = time.process_time()
    assert refused({**body, "values": "1 " * 450_000})["values"].endswith('[{"seed": …, "value": …}]')
    assert time.process_time() - began < 0.2


ADDRESSES = {f"x{k}": f"https://my.org/{k}" for k in range(15_000)}
WIDE: dict[str, dict[str, Any]] = {
    "addresses at the top": ADDRESSES,
    "words for values at the top": dict.fromkeys(ADDRESSES, 0.9),
    "addresses in the provenance": {"values": [{"seed": 0, "value": 0.9}], "provenance": ADDRESSES},
    "fields of a value": {"values": [dict.fromkeys(ADDRESSES, 0.9)]},
}


@pytest.mark.parametrize("case", WIDE)
def test_claim_of_15000_unknown_fields_is_refused_in_less_than_half_a_second(case: str) -> None:
    body = {**load_yaml(SPEC), **WIDE[case]}
    seconds = []
    for _ in range(2):  # Python may collect its garbage during one of them
        began = time.process_time()
        assert len(refused(body)) >= 100
        seconds.append(time.process_time() - began)
    assert min(seconds) < 0.5


@pytest.mark.parametrize("case", WIDE)
def test_addresses_of_a_claim_are_read_once(case: str, monkeypatch: pytest.MonkeyPatch) -> None:
    reads: list[Any] = []
    monkeypatch.setattr(advice, "_read_address", reads.append)
    refused({**load_yaml(SPEC), **WIDE[case]})
    assert len(reads) <= 2 * advice.MAX_READ
