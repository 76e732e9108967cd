"""Advice is right: the line that an error tells to write is accepted in place of what was written."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from normcore.spec import InvalidSpec, SpecError, resolve
from normcore.spec.files import load_yaml

TASK = {"task": {"name": "permuted_digits", "profile": "smoke"}}
LAYER_NORM = {"norm": {"method": "layer_norm"}}


def refusal(written: Any) -> str:
    with pytest.raises(InvalidSpec) as caught:
        resolve(written)
    [error] = caught.value.errors
    return error.msg


def lines(message: str) -> Iterator[Any]:
    """Yield the fields that a message tells to write, with a word for the blank of a label's name, and with 7 for the
    blank of a number."""
    decoder = json.JSONDecoder()
    for found in re.finditer(r'(?:write|as) ("\w+": .*)|(?:quotes: )(".*)', message):
        text = (found[1] or found[2]).replace("{…: ", '{"team": ').replace(": …", ": 7")
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
        ({"seeds": "range(0, 10, 3)"}, {"seeds": [0, 3, 6, 9]}),
        ({"seeds": "0:10:5"}, {"seeds": [0, 5]}),
        ({"seeds": "0 – 4"}, {"seeds": [0, 1, 2, 3, 4]}),
        ({"seeds": {"start": 0}}, {"seeds": [0, 1, 2]}),
        ({"labels": {2024: "pilot"}}, {"labels": {"2024": "pilot"}}),
        ({"labels": {True: "pilot"}}, {"labels": {"true": "pilot"}}),
        ({"labels": {None: "pilot"}}, {"labels": {"null": "pilot"}}),
        ({"labels": {"team": None}}, {"labels": {"team": "null"}}),
        ({"training": None}, {"training": {"max_steps": 7}}),
        ({"training": ["max_steps", 100]}, {"training": {"max_steps": 7}}),
        ({"training": [{"max_steps": 100}, {"batch_size": 8}]}, {"training": {"max_steps": 100, "batch_size": 8}}),
        ({"training": {"schedule": "cosine"}}, {"training": {"schedule": {"start": 7}}}),
        ({"training": {"schedule": {}}}, {"training": {"schedule": {"start": 7}}}),
        ({"training": {"schedule": "none"}}, {"training": {"schedule": None}}),
        ({"training": {"clip_norm": "none"}}, {"training": {"clip_norm": None}}),
        ({"training": {"clip_norm": False}}, {"training": {"clip_norm": None}}),
        ({"training": {"target": "none"}}, {"training": {"target": None}}),
        ({"clip_norm": "none"}, {"training": {"clip_norm": None}}),
        ({"training": {"optimizer": {"lr": [0.1]}}}, {"training": {"optimizer": {"lr": 0.1}}}),
        ({"norm": {"type": "rms_norm", "eps": 1e-3}}, {"norm": {"method": "rms_norm"}}),
        ({"optimizer": "SGD"}, {"training": {"optimizer": {"name": "rmsprop"}}}),
        ({"eps": 1e-3}, {"norm": {"method": "layer_norm", "eps": 1e-3}}),
        ({"n_seeds": 3}, {"seeds": [0, 1, 2]}),
        ({"num_seeds": 2}, {"seeds": [0, 1]}),
        ({"n_seeds": "few"}, {"seeds": [0, 1, 2]}),
        ({"n_seeds": 10**30}, {"seeds": [0, 1, 2]}),
        ({"label": {"a": "b"}}, {"labels": {"a": "b"}}),
        ({"training": {"batch": 32}}, {"training": {"batch_size": 32}}),
        ({"batch": 32}, {"training": {"batch_size": 32}}),
        ({"gain": 0.1}, {"norm": {"method": "layer_norm", "gain_init": 0.1}}),
        ({"precision": "fp16"}, {"training": {"precision": "bfloat16"}}),
        ({"precision": "bf16"}, {"training": {"precision": "bfloat16"}}),
        ({"precision": 32}, {"training": {"precision": "float32"}}),
        ({"training": {"precision": "32"}}, {"training": {"precision": "float32"}}),
        ({"training": {"precision": 64}}, {"training": {"precision": "float64"}}),
        ({"device": "GPU0"}, {"device": "cuda"}),
        ({"device": "cuda:0"}, {"device": "cuda"}),
        ({"device": "mps"}, {"device": "auto"}),
        ({"training": {"clip": 1.0}}, {"training": {"clip_norm": 1.0}}),
        ({"training": {"clip": False}}, {"training": {"clip_norm": None}}),
        ({"clip": 1}, {"training": {"clip_norm": 1}}),
        ({"seeds": "1,000"}, {"seeds": [0, 1, 2]}),
        ({"training": {"norm": "LayerNorm"}}, LAYER_NORM),
        ({"training": {"seeds": [3]}}, {"seeds": [3]}),
        ({"note": True}, {"labels": {"note": "true"}}),
        ({"note": 1.5}, {"labels": {"note": "1.5"}}),
    ],
)
def test_the_line_to_write_is_accepted_and_is_what_was_meant(wrong: dict[str, Any], right: dict[str, Any]) -> None:
    found = list(lines(refusal({**TASK, **wrong})))
    assert found == [right]
    resolve(over(TASK, right))


@pytest.mark.parametrize("wrong", [None, 1000, "fast", []])
def test_part_without_readable_fields_is_answered_with_a_blank(wrong: Any) -> None:
    assert refusal({**TASK, "training": wrong}).endswith('write "training": {"max_steps": …}')


@pytest.mark.parametrize("words", [None, ["a"]])
def test_own_words_that_are_no_text_are_a_blank(words: Any) -> None:
    assert refusal({**TASK, "note": words}).endswith('write "labels": {"note": …}')


def test_object_of_fields_does_not_become_a_label() -> None:
    assert "labels" not in refusal({**TASK, "experiment": {"seeds": [1]}}).replace("labels, training", "")


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ({"lr": [0.1, 0.2]}, {"training.optimizer.lr": [0.1, 0.2]}),
        ({"hidden_size": [50, 100]}, {"model.hidden_size": [50, 100]}),
        ({"cell": ["LSTM", "GRU"]}, {"model.cell": ["lstm", "gru"]}),
        ({"norm": {"type": ["none", "LayerNorm"]}}, {"norm.method": ["none", "layer_norm"]}),
        ({"norm": {"method": ["none", "LayerNorm"]}}, {"norm.method": ["none", "layer_norm"]}),
        ({"norm": ["none", "LayerNorm"]}, {"norm.method": ["none", "layer_norm"]}),
        ({"training": {"optimizer": ["adam", "rmsprop"]}}, {"training.optimizer.name": ["adam", "rmsprop"]}),
    ],
)
def test_several_values_are_answered_with_the_grid_of_a_sweep(wrong: dict[str, Any], right: dict[str, Any]) -> None:
    told = refusal({**TASK, **wrong})
    assert "only a sweep tries several values: write " in told
    assert list(lines(told)) == [{"grid": right}]


@pytest.mark.parametrize(("count", "is_advised"), [(100, True), (101, False)])
def test_of_very_many_values_no_line_is_looked_for(count: int, is_advised: bool) -> None:
    told = refusal({**TASK, "norm": {"method": ["LayerNorm"] * count}})
    assert ("only a sweep tries several values" in told) == is_advised
    assert is_advised or told.startswith("unknown ")


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ({"norm": ["LayerNorm"]}, {"method": "layer_norm"}),
        ({"norm": [{"method": "LayerNorm"}, {"eps": 1e-3}]}, {"method": "layer_norm", "eps": 1e-3}),
        ({"norm": [{"layer_norm": {"eps": 1e-3}}]}, {"method": "layer_norm", "eps": 1e-3}),
        ({"norm": [{"type": "LayerNorm"}]}, {"method": "layer_norm"}),
        ({"model": ["LSTM"]}, {"cell": "lstm"}),
    ],
)
def test_an_object_in_a_list_is_answered_with_the_object(wrong: dict[str, Any], right: dict[str, Any]) -> None:
    assert refusal({**TASK, **wrong}) == f"expected an object, as {json.dumps(right)}"


@pytest.mark.parametrize(
    "wrong",
    [
        {"tasks": "permuted_digits"},
        {"tasks": ["permuted_digits", "char_lm"]},
        {"task.name": "permuted_digits"},
        {"task": {"type": "permuted-digits"}},
        {"Task": {"name": "permuted_digits"}},
        {"permuted_digits": None},
        {"task": {"Permuted-Digits": None}},
    ],
)
def test_a_task_that_is_written_in_another_way_is_found(wrong: dict[str, Any]) -> None:
    assert list(lines(refusal(wrong))) == [{"task": {"name": "permuted_digits"}}]


@pytest.mark.parametrize("corpus", ["texts/mine.txt", "/home/me/mine.txt", "../mine.txt"])
def test_a_file_as_corpus_is_answered_with_the_corpus_and_the_file(corpus: str) -> None:
    told = refusal({"task": {"name": "char_lm", "corpus": corpus}})
    file = "texts/mine.txt" if corpus.startswith("texts") else "mine.txt"
    assert list(lines(told)) == [{"task": {"corpus": "file", "file": file}}]
    resolve(over({"task": {"name": "char_lm"}}, *lines(told)))


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"optimizer": "SGD"}, "unknown 'SGD'; choose from adam, rmsprop, toronto_adam"),
        ({"training": {"optimizer": "SGD"}}, "unknown 'SGD'; choose from adam, rmsprop, toronto_adam"),
        ({"norm": "foo"}, "unknown 'foo'; choose from batch_norm,"),
        ({"lr": "fast"}, "it belongs in training.optimizer; expected a number, not 'fast'"),
        ({"lr": "none"}, "it belongs in training.optimizer; expected a number, not 'none'"),
        ({"seeds": ["0-4"]}, "expected a whole number, not '0-4'; write 0, 1, 2, 3, 4"),
        ({"seeds": "range(50)"}, 'expected a list; write all 50 numbers, as "seeds": [0, 1, 2, …, 49]'),
        ({"task": "foo"}, "unknown 'foo'; choose from attentive_reader,"),
        ({"task": ["char_lm", "draw"]}, 'as {"name": "char_lm"} (one task for each experiment)'),
        ({"task": [{"name": "char_lm"}, {"profile": "smoke"}]}, 'as {"name": "char_lm", "profile": "smoke"}'),
        ({"model": None}, "permuted_digits needs a model; remove it for the profile's model"),
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


WRONG = """
norm: {type: LayerNorm, eps: 1e-3}
norm: {kind: rms-norm, gain_init: 0.5}
norm: LayerNorm
norm: foo
norm: [{method: LayerNorm}, {eps: 1e-3}]
norm: [none, LayerNorm, dynamic_tanh]
norm: {eps: 1e-3}
norm: {layer_norm: {Eps: 1e-3}}
LayerNorm: {Eps: 1e-3}
norm: {type: [none, LayerNorm]}
norm: {type: foo}
norm: {method: layer_norm, eps: [1e-3, 1e-4]}
norm: {method: layer_norm, sites: input}
model: {lstm: {hidden_size: 5}}
model: [GRU]
model: 5
model: null
cell: [LSTM, GRU]
gain_init: 0.5
hidden_size: "50"
hidden_size: [50, 100]
bidirectional: "true"
lr: "1e-3"
lr: [0.1, 0.01]
lr: [0.1]
optimizer: [adam, rmsprop]
precision: bfloat-16
precision: [float32, float64]
training: {learning_rate: "1e-3", steps: 100.0}
training: {optimizer: SGD}
training: {optimizer: {type: Adam, lr: "0.1"}}
training: {optimizer: {adam: {lr: 0.1}}}
training: {optimizer: {name: SGD}}
training: {optimizer: [adam, rmsprop]}
training: {schedule: false}
training: {schedule: {type: linear_decay}}
training: {schedule: {START: 5}}
training: {schedule: {start: 5, name: cosine}}
Training: 5
Training: {Optimizer: {LR: 0.1}}
seeds: 5
labels: {2024: pilot, true: yes, team: 3}
labels: pilot
labels: {true: yes, 1.5: x}
seed: 3
device: gpu
name: first
""".strip()


def at(spec: Mapping[Any, Any], loc: Sequence[str | int], *value: Any) -> dict[Any, Any]:
    """Remove the field at a path, or put a value there."""
    first, *others = loc
    if others and isinstance(spec.get(first), Mapping):
        return {**spec, first: at(spec[first], others, *value)}
    if others:
        return {**spec, first: at({}, others, *value)}
    kept = {name: inner for name, inner in spec.items() if first not in (name, json.dumps(name))}
    return {**kept, first: value[0]} if value else kept


def mended(spec: dict[str, Any], error: SpecError) -> Iterator[dict[str, Any]]:
    """Do what a message tells: write its first line, or its object, or choose from its names, or remove the field. A
    line of a sweep's grid gives a spec for each value."""
    without = at(spec, error.loc)
    fields = next(lines(error.msg), None)
    found = re.search(r"expected an object, as ({.*})", error.msg)
    named = re.search(r"did you mean '(\w+)'|expected '(\w+)'|choose from (\w+)", error.msg)
    if fields and "grid" in fields:
        for path, values in fields["grid"].items():
            yield from (at(without, path.split("."), value) for value in values)
    elif fields:
        yield over(without, fields)
    elif found:
        yield at(spec, error.loc, json.loads(found[1]))
    elif "remove it" in error.msg:
        yield without
    elif named:
        yield at(spec, error.loc, next(filter(None, named.groups())))
    else:
        raise AssertionError(f"no advice: {error.msg}")


@pytest.mark.parametrize("text", WRONG.splitlines())
def test_a_spec_that_follows_the_advice_is_accepted(text: str) -> None:
    with pytest.raises(InvalidSpec) as caught:
        resolve({**TASK, **load_yaml(text)})
    specs = [{**TASK, **load_yaml(text)}]
    for error in caught.value.errors:
        specs = [right for spec in specs for right in mended(spec, error)]
    for spec in specs:
        resolve(spec)
