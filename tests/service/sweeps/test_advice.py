"""Advice on wrong sweeps is accepted as it stands, and has no number that the user did not write."""

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest

from normcore.spec.files import load_yaml
from service.errors import Invalid
from service.sweeps.expansion import cells
from service.sweeps.spec import read

TASK = "spec: {task: {name: permuted_digits, profile: smoke}"
SPEC = f"{TASK}, norm: {{method: layer_norm}}}}"
GRID = "grid: {training.optimizer.lr: [0.1, 0.01]}"
ADVISED = re.compile(r'(?:write|as|quotes:|null:|have it:) (?="(?:grid|random|spec)": )(.*?)(?:, or remove it)?$')
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e-?\d+)?")


def refused(body: Any) -> list[tuple[str, str]]:
    """Place and message of each error of a sweep or its cells; the list is empty if the sweep is valid."""
    try:
        cells(read(body), None)
    except Invalid as refusal:
        return [("/".join(map(str, error.loc)), error.msg) for error in refusal.errors]
    return []


def merge(value: Any, over: Any) -> Any:
    """The object with the fields of another one over its own."""
    if not isinstance(value, Mapping) or not isinstance(over, Mapping):
        return over
    return {**value, **{name: merge(value.get(name), inner) for name, inner in over.items()}}


def put_at(body: Any, place: list[str], line: str) -> Any:
    """The sweep with the line instead of what stood at the place."""
    written = json.loads(f"{{{line}}}")
    if place[0] != "spec":  # one field of the grid or of the random fields, with all of its values
        rest = {name: value for name, value in body.get(place[0], {}).items() if name != place[1]}
        return {**body, place[0]: rest} | {axis: {**rest, **fields} for axis, fields in written.items()}
    return merge(without(body, place), written)


def without(value: Any, place: list[str]) -> Any:
    """The object without the field at the place."""
    rest = {name: inner for name, inner in value.items() if str(name) != place[0]}
    return {**rest, place[0]: without(value[place[0]], place[1:])} if len(place) > 1 and place[0] in value else rest


def check_advice(text: str, where: str, line: str, *, is_spelt_out: bool = False) -> None:
    """Check that the sweep has one error, and that the sweep is accepted with the advised line."""
    body = load_yaml(text)
    [(place, message)] = refused(body)
    found = ADVISED.search(message)
    assert place == where
    assert found is not None, message
    assert found[1] == line
    numbers = {float(number) for number in NUMBER.findall(line)}
    assert is_spelt_out or numbers <= {float(number) for number in NUMBER.findall(text)}, "no number is invented"
    if "…" not in line:
        assert refused(put_at(body, where.split("/"), line)) == []


@pytest.mark.parametrize(
    ("text", "where", "line"),
    [
        ("grid: {norm.epsilon: [0.1, 0.01]}", "grid/norm.epsilon", '"grid": {"norm.eps": [0.1, 0.01]}'),
        (
            "random: {norm.epsilon: {uniform: [0.1, 0.2]}}\nsamples: 2",
            "random/norm.epsilon",
            '"random": {"norm.eps": {"uniform": [0.1, 0.2]}}',
        ),
        (
            "grid: {training.optimizer.learning_rate: [0.1, 0.01]}",
            "grid/training.optimizer.learning_rate",
            '"grid": {"training.optimizer.lr": [0.1, 0.01]}',
        ),
        ("grid: {model.layers: [1, 2]}", "grid/model.layers", '"grid": {"model.num_layers": [1, 2]}'),
        ("grid: {norm.eps: ['1e-3', '1e-5']}", "grid/norm.eps", '"grid": {"norm.eps": [0.001, 1e-05]}'),
        ("grid: {norm.eps: [0.1, '0.01']}", "grid/norm.eps", '"grid": {"norm.eps": [0.1, 0.01]}'),
        (
            "random: {norm.eps: {choice: [0.1, '0.01']}}\nsamples: 2",
            "random/norm.eps",
            '"random": {"norm.eps": {"choice": [0.1, 0.01]}}',
        ),
        (
            "grid: {model.hidden_size: [32.0, 64.0]}",
            "grid/model.hidden_size",
            '"grid": {"model.hidden_size": [32, 64]}',
        ),
        (
            "grid: {training.clip_norm: [none, 1.0]}",
            "grid/training.clip_norm",
            '"grid": {"training.clip_norm": [null, 1.0]}',
        ),
        (
            "grid: {norm.sites: [input, recurrent]}",
            "grid/norm.sites",
            '"grid": {"norm.sites": [["input"], ["recurrent"]]}',
        ),
        (
            "grid: {model.bidirectional: ['yes', 'no']}",
            "grid/model.bidirectional",
            '"grid": {"model.bidirectional": [true, false]}',
        ),
        (
            "grid: {norm: [{method: layer_norm, epsilon: 0.1, sites: input}, {method: none}]}",
            "grid/norm",
            '"grid": {"norm": [{"method": "layer_norm", "sites": ["input"], "eps": 0.1}, {"method": "none"}]}',
        ),
    ],
)
def test_advice_on_a_field_of_a_sweep_is_one_line_of_the_sweep(text: str, where: str, line: str) -> None:
    check_advice(f"{SPEC}\n{text}", where, line)


@pytest.mark.parametrize(
    ("field", "where", "line"),
    [
        ("norm: {method: layer_norm, epsilon: 0.1}", "spec/norm/epsilon", '"spec": {"norm": {"eps": 0.1}}'),
        ("norm: {method: layer_norm, eps: '0.1'}", "spec/norm/eps", '"spec": {"norm": {"eps": 0.1}}'),
        ("labels: {a: 3}", "spec/labels/a", '"spec": {"labels": {"a": "3"}}'),
        ("lr: 0.1", "spec/lr", '"spec": {"training": {"optimizer": {"lr": 0.1}}}'),
        ("name: first", "spec/name", '"spec": {"labels": {"name": "first"}}'),
    ],
)
def test_advice_on_the_spec_of_a_sweep_has_the_spec_around_it(field: str, where: str, line: str) -> None:
    check_advice(f"{TASK}, {field}}}\ngrid: {{model.hidden_size: [16, 32]}}", where, line)


def test_each_line_of_a_spec_gets_the_spec_around_it() -> None:
    [(_, message)] = refused(load_yaml(f"{TASK}, seeds: 3}}\n{GRID}"))
    assert message == 'expected a list; write "spec": {"seeds": [0, 1, 2]} or "spec": {"seeds": [3]}'


def test_a_line_that_is_cut_gets_the_spec_around_its_beginning() -> None:
    [(_, message)] = refused(load_yaml(f"{TASK}, name: {'x' * 200}}}\n{GRID}"))
    assert message.endswith("x…")
    assert 'write "spec": {"labels": {"name": "xxx' in message


def test_a_method_for_an_option_is_advised_in_the_spec_of_the_sweep() -> None:
    [(place, message)] = refused(body := load_yaml(f"{TASK}}}\ngrid: {{norm.eps: [0.1, 0.01]}}"))
    assert place == "grid/norm.eps"
    assert message.endswith('have it: write "spec": {"norm": {"method": "layer_norm"}}, or remove it')
    assert refused(merge(body, {"spec": {"norm": {"method": "layer_norm"}}})) == []


def test_a_method_for_an_option_is_not_advised_if_the_sweep_has_several_methods() -> None:
    errors = refused(load_yaml(f"{TASK}}}\ngrid: {{norm.method: [none, layer_norm], norm.eps: [0.1, 0.01]}}"))
    assert len(errors) == 2
    assert all(message.endswith("have it, or remove it") for _, message in errors)


def test_a_value_that_nobody_can_repair_is_a_blank_beside_those_that_are_repaired() -> None:
    errors = refused(load_yaml(f"{SPEC}\ngrid: {{norm.eps: [-1, '0.1']}}"))
    assert errors == [
        ("grid/norm.eps", 'expected a number without quotes; write "grid": {"norm.eps": […, 0.1]}'),
        ("grid/norm.eps", "does not fit in the cell norm.eps=-1: expected a number greater than 0, not -1"),
    ]


def test_a_drawn_number_is_not_advised() -> None:
    [*_, (place, message)] = refused(load_yaml(f"{SPEC}\nrandom: {{norm.sites: {{uniform: [0.1, 0.2]}}}}\nsamples: 2"))
    assert (place, message) == ("random/norm.sites", "expected a list")
