"""Advice is right: the line that an error tells to write is accepted in place of what was written."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from normcore.spec import InvalidSpec, resolve

TASK = {"task": {"name": "permuted_digits", "profile": "smoke"}}
LAYER_NORM = {"norm": {"method": "layer_norm"}}


def refusal(written: Any) -> str:
    with pytest.raises(InvalidSpec) as caught:
        resolve(written)
    [error] = caught.value.errors
    return error.msg


def lines(message: str) -> Iterator[Any]:
    """Yield the fields that a message tells to write."""
    decoder = json.JSONDecoder()
    for found in re.finditer(r'(?:write|as) ("\w+": .*)|(?:quotes: )(".*)', message):
        text = found[1] or found[2]
        name, end = decoder.raw_decode(text)
        value, _ = decoder.raw_decode(text[end:].removeprefix(": "))
        yield {name: value}


def over(spec: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Put fields into a spec, also into its parts."""
    merged = dict(spec)
    for name, value in fields.items():
        is_part = isinstance(value, Mapping) and isinstance(spec.get(name), Mapping)
        merged[name] = over(spec[name], value) if is_part else value
    return merged


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ({"norm": {"type": "LayerNorm"}}, LAYER_NORM),
        ({"norm": {"kind": "layer norm"}}, LAYER_NORM),
        ({"norm": {"layer_norm": {"eps": 1e-5}}}, {"norm": {"method": "layer_norm", "eps": 1e-5}}),
        ({"norm": {"LayerNorm": None}}, LAYER_NORM),
        ({"norm": {"eps": 1e-3}}, {"norm": {"method": "layer_norm", "eps": 1e-3}}),
        (
            {"norm": {"method": "rms_norm", "scope": "per_gate"}},
            {"norm": {"method": "layer_norm", "scope": "per_gate"}},
        ),
        ({"method": "Layer-Norm"}, LAYER_NORM),
        ({"model": {"type": "LSTM"}}, {"model": {"cell": "lstm"}}),
        ({"cell": "GRU"}, {"model": {"cell": "gru"}}),
        ({"training": {"optimizer": {"type": "Adam", "lr": 0.1}}}, {"training": {"optimizer": {"name": "adam"}}}),
        ({"training": {"learning_rate": "1e-3"}}, {"training": {"optimizer": {"lr": 0.001}}}),
        ({"batch_size": "8"}, {"training": {"batch_size": 8}}),
        ({"seeds": "range(5)"}, {"seeds": [0, 1, 2, 3, 4]}),
        ({"seeds": "range(2, 5)"}, {"seeds": [2, 3, 4]}),
        ({"seeds": "0:5"}, {"seeds": [0, 1, 2, 3, 4]}),
        ({"seeds": "0..4"}, {"seeds": [0, 1, 2, 3, 4]}),
        ({"seeds": "0-4"}, {"seeds": [0, 1, 2, 3, 4]}),
        ({"seeds": "1 to 3"}, {"seeds": [1, 2, 3]}),
        ({"seeds": "1, 5"}, {"seeds": [1, 5]}),
        ({"seeds": "five"}, {"seeds": [0, 1, 2]}),
        ({"labels": {2024: "pilot"}}, {"labels": {"2024": "pilot"}}),
        ({"training": None}, {"training": {"max_steps": 1000}}),
        ({"training": ["max_steps", 100]}, {"training": {"max_steps": 1000}}),
        ({"training": {"schedule": "cosine"}}, {"training": {"schedule": {"start": 500}}}),
    ],
)
def test_the_line_to_write_is_accepted_and_is_what_was_meant(wrong: dict[str, Any], right: dict[str, Any]) -> None:
    found = list(lines(refusal({**TASK, **wrong})))
    assert found == [right]
    resolve(over(TASK, right))


@pytest.mark.parametrize(
    "wrong",
    [
        {"tasks": "permuted_digits"},
        {"tasks": ["permuted_digits", "char_lm"]},
        {"task.name": "permuted_digits"},
        {"task": {"type": "permuted-digits"}},
        {"Task": {"name": "permuted_digits"}},
    ],
)
def test_a_task_that_is_written_in_another_way_is_found(wrong: dict[str, Any]) -> None:
    assert list(lines(refusal(wrong))) == [{"task": {"name": "permuted_digits"}}]


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"optimizer": "SGD"}, "write training.optimizer.name, and choose from adam, rmsprop, toronto_adam"),
        ({"norm": ["layer_norm"]}, 'expected an object, as {"method": "layer_norm"}'),
        ({"norm": [{"method": "layer_norm"}]}, 'expected an object, as {"method": "layer_norm"}'),
        ({"training": {"clip_norm": "none"}}, "expected a number, not 'none'; null clips nothing"),
        ({"training": {"target": "none"}}, "expected a number, not 'none'; null is allowed, without quotes"),
        (
            {"model": {"hidden_size": [50, 100]}},
            'a sweep tries several values: write "grid": {"model.hidden_size": [50, 100]}',
        ),
        ({"norm": {"method": ["none", "rms_norm"]}}, 'write "grid": {"norm.method": ["none", "rms_norm"]}'),
        ({"training": {"optimizer": {"lr": [0.1, 0.2]}}}, 'write "grid": {"training.optimizer.lr": [0.1, 0.2]}'),
    ],
)
def test_a_mistake_without_a_single_line_to_write_is_explained(wrong: dict[str, Any], told: str) -> None:
    assert told in refusal({**TASK, **wrong})
