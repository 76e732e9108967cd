"""Advice on wrong sweeps is accepted as it stands, and has no number that the user did not write."""

import json
import re
import time
from collections.abc import Mapping
from typing import Any
from unittest.mock import Mock

import pytest

from normcore.spec.files import load_yaml
from normcore.spec.resolve import part_classes
from service.errors import Invalid
from service.sweeps import advice, draft
from service.sweeps.expansion import cells
from service.sweeps.spec import read

TASK = "spec: {task: {name: permuted_digits, profile: smoke}"
SPEC = f"{TASK}, norm: {{method: layer_norm}}}}"
GRID = "grid: {training.optimizer.lr: [0.1, 0.01]}"
CLIP_AND_NORM = "grid: {training.clip: [1]}\nrandom: {training.clip_norm: {uniform: [1, 2]}}\nsamples: 2"
ADVISED = re.compile(
    r'(?:write|as|quotes:|null:|known:|field:|have it:) (?="(?:grid|random|spec)": )(.*?)(?:, or remove it)?$'
)
NUMBER = re.compile(r"\d+(?:\.\d*)?(?:e-?\d+)?|\.\d+")


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
    ("axis", "field", "given", "fields"),
    [
        ("grid", "norm.epsilon", "[0.1, 0.01]", '{"norm.eps": [0.1, 0.01]}'),
        ("random", "norm.epsilon", "{uniform: [0.1, 0.2]}", '{"norm.eps": {"uniform": [0.1, 0.2]}}'),
        ("grid", "training.optimizer.learning_rate", "[0.1, 0.01]", '{"training.optimizer.lr": [0.1, 0.01]}'),
        ("grid", "model.layers", "[1, 2]", '{"model.num_layers": [1, 2]}'),
        ("grid", "norm.eps", "['1e-3', '1e-5']", '{"norm.eps": [0.001, 1e-05]}'),
        ("grid", "norm.eps", "[0.1, '0.01']", '{"norm.eps": [0.1, 0.01]}'),
        ("random", "norm.eps", "{choice: [0.1, '0.01']}", '{"norm.eps": {"choice": [0.1, 0.01]}}'),
        ("grid", "model.hidden_size", "[32.0, 64.0]", '{"model.hidden_size": [32, 64]}'),
        ("grid", "training.clip_norm", "[none, 1.0]", '{"training.clip_norm": [null, 1.0]}'),
        ("grid", "norm.sites", "[input, recurrent]", '{"norm.sites": [["input"], ["recurrent"]]}'),
        ("grid", "model.bidirectional", "['yes', 'no']", '{"model.bidirectional": [true, false]}'),
        ("grid", "training.clip_norm", "[null, 'off']", '{"training.clip_norm": [null]}'),
        ("grid", "norm.eps", "['.5', 1.e-3]", '{"norm.eps": [0.5, 0.001]}'),
        ("grid", "training.max_steps", "[1e3]", '{"training.max_steps": [1000]}'),
        ("grid", "training.schedule", "[linear]", '{"training.schedule": [{"start": …}]}'),
        ("grid", "training.epochs", "[3, 5]", '{"training.max_steps": […]}'),
        ("grid", "epochs", "[3, 5]", '{"training.max_steps": […]}'),
        ("random", "epochs", "{int_uniform: [3, 5]}", '{"training.max_steps": {"int_uniform": […, …]}}'),
        ("grid", "norm.method", "[LayerNorm, none]", '{"norm.method": ["layer_norm", "none"]}'),
        ("grid", "norm.method", "LayerNorm", '{"norm.method": ["layer_norm"]}'),
        ("grid", "norm", "LayerNorm", '{"norm.method": ["layer_norm"]}'),
        (
            "grid",
            "norm",
            "[{method: layer_norm, epsilon: 0.1, sites: input}, {method: none}]",
            '{"norm": [{"method": "layer_norm", "sites": ["input"], "eps": 0.1}, {"method": "none"}]}',
        ),
    ],
)
def test_advice_on_a_field_is_one_line_of_the_sweep(axis: str, field: str, given: str, fields: str) -> None:
    samples = "\nsamples: 2" if axis == "random" else ""
    check_advice(f"{SPEC}\n{axis}: {{{field}: {given}}}{samples}", f"{axis}/{field}", f'"{axis}": {fields}')


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


def test_line_of_a_spec_gets_the_spec_around_it() -> None:
    [(_, message)] = refused(load_yaml(f"{TASK}, seeds: 3}}\n{GRID}"))
    assert message == 'expected a list; write "spec": {"seeds": [0, 1, 2]}, or [3] for seed 3 alone'


def test_line_that_a_validator_of_the_task_advises_gets_the_spec_around_it() -> None:
    [(_, message)] = refused(load_yaml("spec: {task: {name: char_lm, corpus: mine.txt}}\ngrid: {norm.method: [none]}"))
    assert message.endswith('write "spec": {"task": {"corpus": "file", "file": "mine.txt"}}')


def test_item_of_a_list_is_advised_without_the_sweep_around_it() -> None:
    [(place, message)] = refused(
        load_yaml('spec: {task: {name: hidden_dynamics}}\ngrid: {task.weight_scales: [["1", 2.0]]}')
    )
    assert place == "grid/task.weight_scales/0"
    assert message.endswith("expected a number without quotes; write 1.0")


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


@pytest.mark.parametrize(
    ("grid", "line"),
    [
        ("{norm.eps: 'layernorm, rbn'}", '"grid": {"norm.eps": […, …]}'),
        ("{norm.eps: no}", '"grid": {"norm.eps": […]}'),
        ("{lr: [fast, 0.1]}", '"grid": {"training.optimizer.lr": […, 0.1]}'),
        ("{hidden_size: ['10', 20.0]}", '"grid": {"model.hidden_size": […, 20]}'),
        ("{training.max_steps: '1,000, 2,000'}", '"grid": {"training.max_steps": […]}'),
        ("{norm.eps: '0,5'}", '"grid": {"norm.eps": […]}'),
        ("{norm.eps: '0,5; 0,1'}", '"grid": {"norm.eps": […]}'),
        ("{norm.eps: '[1,5]'}", '"grid": {"norm.eps": [1, 5]}'),
        ("{norm.eps: '0.1,0.01'}", '"grid": {"norm.eps": [0.1, 0.01]}'),
        ("{task.name: 'char_lm, foo'}", '"grid": {"task.name": ["char_lm", …]}'),
    ],
)
def test_value_that_the_field_does_not_take_is_a_blank(grid: str, line: str) -> None:
    [(_, message)] = refused(load_yaml(f"{SPEC}\ngrid: {grid}"))
    assert message.endswith(line)


def test_value_of_a_field_that_only_other_methods_have_is_a_blank() -> None:
    [(_, message)] = refused(load_yaml(f"{TASK}}}\ngrid: {{norm.eps: 'layernorm, rbn'}}"))
    assert message.endswith('"grid": {"norm.eps": […, …]}')


@pytest.mark.parametrize(
    ("field", "line"),
    [
        ("training: 5", 'write "spec": {"training": {"max_steps": …}}'),
        ("labels: pilot", 'write "spec": {"labels": {…: "pilot"}}'),
        ("labels: [pilot]", 'write "spec": {"labels": {…: …}}'),
    ],
)
def test_line_with_blanks_in_the_spec_has_all_its_brackets(field: str, line: str) -> None:
    [(_, message)] = refused(load_yaml(f"{TASK}, {field}}}\ngrid: {{norm.method: [none]}}"))
    assert message.endswith(line)


def test_no_blank_is_cut_in_its_middle() -> None:
    values = ["0.1", *(f"bad{k}" for k in range(30))]
    (_, message), *_ = refused({**load_yaml(SPEC), "grid": {"norm.eps": values}})
    assert message.endswith(f'write "grid": {{"norm.eps": [0.1, {"…, " * 25}'[:-2] + "…")
    fields = {"eps": 1, "gain_init": 1, "bias_init": 1}
    [(_, message)] = refused({**load_yaml(SPEC), "random": {"norm": fields}, "samples": 2})
    assert message.endswith('"norm.gain_init": {"uniform": […, …]}, "norm.bias_init":…')


def test_a_drawn_number_is_not_advised() -> None:
    [*_, (place, message)] = refused(load_yaml(f"{SPEC}\nrandom: {{norm.sites: {{uniform: [0.1, 0.2]}}}}\nsamples: 2"))
    assert place == "random/norm.sites"
    assert message.startswith("expected a list")
    assert not NUMBER.search(message)


@pytest.mark.parametrize(
    ("field", "given", "values"),
    [
        ("norm.eps", "'0.1, 0.01'", "[0.1, 0.01]"),
        ("norm.eps", "'[0.1, 0.01]'", "[0.1, 0.01]"),
        ("norm.eps", "'1e-3'", "[0.001]"),
        ("norm.method", "none", '["none"]'),
        ("norm.method", "'none, layer_norm'", '["none", "layer_norm"]'),
        ("norm.eps", "{choice: [0.1, 0.2]}", "[0.1, 0.2]"),
        ("norm.eps", "{values: [0.1, 0.2]}", "[0.1, 0.2]"),
        ("model.hidden_size", "32..64", "[…]"),
        ("norm.gain_init", "{min: 0.1, max: 1}", "[…]"),
        ("norm.gain_init", "{mean: 0.1, std: 0.5}", "[…]"),
        ("norm.gain_init", "{start: 0, stop: 0.9, step: 0.3}", "[…]"),
        ("norm.gain_init", "{min: 0, max: 1, step: 0}", "[…]"),
        ("norm.gain_init", "{min: 0, max: 1, step: 0.001}", "[…]"),
        ("norm.gain_init", "'range(1000)'", "[…]"),
        ("norm.gain_init", "{min: 1, max: .nan, step: 1}", "[…]"),
        ("norm.eps", "null", "[…]"),
    ],
)
def test_advice_on_a_grid_has_the_values_that_are_certain(field: str, given: str, values: str) -> None:
    check_advice(f"{SPEC}\ngrid: {{{field}: {given}}}", f"grid/{field}", f'"grid": {{"{field}": {values}}}')


@pytest.mark.parametrize(
    ("field", "given", "values"),
    [
        ("norm.gain_init", "{min: 0.1, max: 1, step: 0.1}", "[0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]"),
        ("norm.gain_init", "{start: 0.1, stop: 0.5, num: 5}", "[0.1, 0.2, 0.3, 0.4, 0.5]"),
        ("norm.gain_init", "{start: 0.1, stop: 1, step: 0.4}", "[0.1, 0.5, 0.9]"),
        ("model.hidden_size", "{min: 8, max: 32, step: 8}", "[8, 16, 24, 32]"),
        ("model.hidden_size", "{from: 8, to: 32, by: 8}", "[8, 16, 24, 32]"),
        ("model.hidden_size", "{begin: 8, end: 32, step: 8}", "[…]"),
        ("model.hidden_size", "{begin: 8, end: 30, step: 8}", "[8, 16, 24]"),
        ("model.num_layers", "'range(1, 3)'", "[1, 2]"),
        ("norm.gain_init", "'range(3)'", "[0, 1, 2]"),
    ],
)
def test_advice_on_a_range_of_a_grid_spells_out_its_values(field: str, given: str, values: str) -> None:
    line = f'"grid": {{"{field}": {values}}}'
    check_advice(f"{SPEC}\ngrid: {{{field}: {given}}}", f"grid/{field}", line, is_spelt_out=True)


@pytest.mark.parametrize(
    ("field", "given", "below", "distribution"),
    [
        ("norm.eps", "{uniform: '0.001-0.1'}", "/uniform", '{"uniform": [0.001, 0.1]}'),
        ("norm.eps", "{log_uniform: 0.001 to 0.1}", "/log_uniform", '{"log_uniform": [0.001, 0.1]}'),
        ("norm.eps", "{LogUniform: 0.001..0.1}", "/LogUniform", '{"log_uniform": [0.001, 0.1]}'),
        ("norm.eps", "'uniform(0.001, 0.1)'", "", '{"uniform": [0.001, 0.1]}'),
        ("norm.eps", "'choice(0.001, 0.1)'", "", '{"choice": [0.001, 0.1]}'),
        ("norm.eps", "0.001-0.1", "", '{"uniform": [0.001, 0.1]}'),
        ("norm.eps", "{min: 0.001, max: 0.1}", "", '{"uniform": [0.001, 0.1]}'),
        ("norm.eps", "{High: 0.1, Low: 0.001}", "", '{"uniform": [0.001, 0.1]}'),
        ("norm.eps", "{min: 1, max: 4}", "", '{"uniform": [1, 4]}'),
        ("model.hidden_size", "{min: 8, max: 64}", "", '{"int_uniform": [8, 64]}'),
        ("model.hidden_size", "{uniform: {min: 8, max: 64}}", "/uniform", '{"int_uniform": [8, 64]}'),
        ("norm.gain_init", "[0, 1]", "", "{…: [0, 1]}"),
        ("norm.eps", "[0.1, 0.01]", "", "{…: [0.1, 0.01]}"),
        ("norm.eps", "'0.1, 0.01'", "", "{…: [0.1, 0.01]}"),
        ("norm.eps", "'0,1; 0,01'", "", '{"uniform": […, …]}'),
        ("norm.eps", "{uniform: '1,000'}", "/uniform", '{"uniform": […, …]}'),
        ("norm.eps", "'uniform(1,000)'", "", '{"uniform": […, …]}'),
        ("norm.eps", "'uniform(0,1)'", "", '{"uniform": [0, 1]}'),
        ("norm.eps", "[a, b, 0.1]", "", '{"choice": […, …, 0.1]}'),
        ("norm.method", "[LayerNorm, foo]", "", '{"choice": ["layer_norm", …]}'),
        ("norm.eps", "{name: choice, values: [0.1, 0.01]}", "", '{"choice": [0.1, 0.01]}'),
        ("norm.eps", "{type: log_uniform, min: 0.01, max: 0.1}", "", '{"log_uniform": [0.01, 0.1]}'),
        ("norm.eps", "{values: [0.1, 0.01]}", "", '{"choice": [0.1, 0.01]}'),
        ("norm.eps", "{choice: '0.1, 0.01'}", "/choice", '{"choice": [0.1, 0.01]}'),
        ("norm.eps", "{distribution: normal, mean: 0.1, std: 0.5}", "", '{"uniform": […, …]}'),
        ("norm.eps", "{uniform: {mean: 0.1, std: 0.5}}", "/uniform", '{"uniform": […, …]}'),
        ("norm.eps", "{normal: [0, 1]}", "", '{"uniform": […, …]}'),
        ("norm.eps", "'log_normal(0, 1)'", "", '{"uniform": […, …]}'),
        ("norm.eps", "{type: beta, a: 1, b: 2}", "", '{"uniform": […, …]}'),
        ("norm.eps", "{log_uniform: {min: 0, max: 1}}", "/log_uniform", '{"uniform": […, …]}'),
        ("norm.eps", "0.1", "", '{"uniform": […, …]}'),
    ],
)
def test_advice_on_a_distribution_has_the_users_numbers(field: str, given: str, below: str, distribution: str) -> None:
    text = f"{SPEC}\nrandom: {{{field}: {given}}}\nsamples: 2"
    check_advice(text, f"random/{field}{below}", f'"random": {{"{field}": {distribution}}}')


@pytest.mark.parametrize(
    ("field", "given", "line"),
    [
        ("training.precision", "'uniform(0,1)'", '"random": {"training.precision": {"choice": […]}}'),
        ("training.clip", "{min: 1, max: 2}", '"random": {"training.clip": {"choice": […]}}'),
        ("norm", "1-4", '"random": {"norm": {"choice": […]}}'),
        ("optimizer", "{uniform: [0, 1]}", '"random": {"training.optimizer": {"choice": […]}}'),
        ("training.max_steps", "{uniform: [0, 1]}", '"random": {"training.max_steps": {"int_uniform": […, …]}}'),
        ("lr", "{min: -1, max: 1}", '"random": {"training.optimizer.lr": {"uniform": […, …]}}'),
        ("lr", "{min: 0, max: 1}", '"random": {"training.optimizer.lr": {"uniform": [0, 1]}}'),
        ("optimizer.lr", "{uniform: [0.1, 0.2]}", '"random": {"training.optimizer.lr": {"uniform": [0.1, 0.2]}}'),
    ],
)
def test_numbers_that_the_field_does_not_take_are_blanks(field: str, given: str, line: str) -> None:
    check_advice(f"{SPEC}\nrandom: {{{field}: {given}}}\nsamples: 2", f"random/{field}", line)


def test_draws_in_the_grid_that_the_field_does_not_take_are_a_blank() -> None:
    text = f"{SPEC}\ngrid: {{training.precision: {{log_uniform: [1e-4, 1e-2]}}}}"
    [(_, message)] = refused(load_yaml(text))
    assert message == 'draws belong in random, as "random": {"training.precision": {"choice": […]}}'


@pytest.mark.parametrize(
    ("field", "told"),
    [
        ("norm.eps: [0.1, a]", '; write "grid": {"norm.eps": [0.1, …]}'),
        ("norm.method: rbn", '; write "grid": {"norm.method": ["recurrent_batch_norm"]}'),
        ("norm.foo: 1", ""),
        ("foo.bar: 1", ""),
    ],
)
def test_dotted_name_beside_the_grid_gets_the_values_that_the_field_takes(field: str, told: str) -> None:
    errors = dict(refused(load_yaml(f"{SPEC}\ngrid: {{norm.gain_init: [1]}}\n{field}")))
    assert errors[field.split(":")[0]] == f"unknown field; it belongs in grid, with a list of values{told}"


def test_a_range_to_an_integer_beyond_floats_is_not_spelt_out() -> None:
    given = {"min": 1, "max": 10**400, "step": 1}
    errors = refused({**load_yaml(SPEC), "grid": {"norm.gain_init": given}})
    assert errors == [("grid/norm.gain_init", 'expected a list of values, as "grid": {"norm.gain_init": […]}')]


@pytest.mark.parametrize(
    ("field", "given", "line"),
    [
        ("model.hidden_size", "{uniform: [8, 64]}", '"random": {"model.hidden_size": {"int_uniform": [8, 64]}}'),
        ("hidden_size", "{uniform: [8.0, 64.0]}", '"random": {"model.hidden_size": {"int_uniform": [8, 64]}}'),
        ("model.hidden_size", "{uniform: [8.5, 64]}", '"random": {"model.hidden_size": {"int_uniform": […, …]}}'),
        ("model.hidden_size", "{log_uniform: [8, 64]}", '"random": {"model.hidden_size": {"int_uniform": […, …]}}'),
    ],
)
def test_draws_of_whole_numbers_are_advised_once(field: str, given: str, line: str) -> None:
    check_advice(f"{SPEC}\nrandom: {{{field}: {given}}}\nsamples: 2", f"random/{field}", line)


@pytest.mark.parametrize(
    ("field", "given", "below", "distribution"),
    [
        ("norm.eps", "0.1-1e999", "", '{"uniform": […, …]}'),
        ("norm.eps", "[0.1, .inf]", "", '{"uniform": […, …]}'),
        ("norm.eps", "{values: [0.1, .nan]}", "", '{"uniform": […, …]}'),
        ("norm.eps", "{int_uniform: 0.5-2.5}", "/int_uniform", '{"uniform": […, …]}'),
        ("norm.eps", "{type: int_uniform, min: 1, max: 3.5}", "", '{"uniform": […, …]}'),
        ("norm.eps", "{type: int_uniform, min: 1.0, max: 3.0}", "", '{"int_uniform": [1, 3]}'),
        ("training.batch_size", "'normal(3,4)'", "", '{"int_uniform": […, …]}'),
        ("model.hidden_size", "[10.0, 1000.0]", "", "{…: [10, 1000]}"),
        ("model.hidden_size", "{log_uniform: {min: 16, max: 256}}", "/log_uniform", '{"int_uniform": […, …]}'),
        ("model.num_layers", "{min: 1, max: 3.5}", "", '{"int_uniform": […, …]}'),
        ("model.num_layers", "{min: 1, max: 2, step: 0.5}", "", '{"int_uniform": […, …]}'),
    ],
)
def test_an_advised_distribution_is_one_that_the_field_takes(
    field: str, given: str, below: str, distribution: str
) -> None:
    text = f"{SPEC}\nrandom: {{{field}: {given}}}\nsamples: 2"
    check_advice(text, f"random/{field}{below}", f'"random": {{"{field}": {distribution}}}')


@pytest.mark.parametrize(
    ("field", "given", "values"),
    [
        ("norm.eps", "'1e400'", "[…]"),
        ("norm.eps", "'0.1, 1e400'", "[…]"),
        ("norm.eps", ".inf", "[…]"),
        ("model.num_layers", "{min: 1, max: 2, step: 0.5}", "[…]"),
        ("model.num_layers", "'1.0, 2.0'", "[1, 2]"),
        ("norm.method", "'layernorm, nothing'", '["layer_norm", …]'),
    ],
)
def test_advised_values_of_a_grid_are_values_that_the_field_takes(field: str, given: str, values: str) -> None:
    check_advice(f"{SPEC}\ngrid: {{{field}: {given}}}", f"grid/{field}", f'"grid": {{"{field}": {values}}}')


def test_a_distribution_in_the_grid_that_is_wrong_is_not_advised() -> None:
    errors = refused(load_yaml(f"{SPEC}\ngrid: {{norm.eps: {{uniform: 5}}}}"))
    assert errors == [("grid/norm.eps", 'draws belong in random, as "random": {"norm.eps": {"uniform": […, …]}}')]


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("norm.method", "[layernorm, rbn]"),
        ("norm.method", "{values: [layernorm, rbn]}"),
        ("norm.method", "'layernorm, rbn'"),
        ("norm", "[layernorm, rbn]"),
    ],
)
def test_names_to_draw_from_are_spelt_as_they_are_known(field: str, given: str) -> None:
    [(place, message)] = refused(load_yaml(f"{SPEC}\nrandom: {{{field}: {given}}}\nsamples: 2"))
    assert place == f"random/{field}"
    assert message.endswith('"random": {"norm.method": {"choice": ["layer_norm", "recurrent_batch_norm"]}}')


@pytest.mark.parametrize(
    ("swept", "places"),
    [
        ("grid: {training.gradclip: [1, 2], training.clip_norm: [3]}", ["grid/training.gradclip"]),
        ("grid: {training.gradclip: [1, 2], clip_norm: [3]}", ["grid/training.gradclip", "grid/clip_norm"]),
        (
            "grid: {training.gradclip: [1, 2]}\nrandom: {training.clip_norm: {uniform: [1, 2]}}\nsamples: 2",
            ["grid/training.gradclip"],
        ),
    ],
)
def test_two_names_of_a_field_in_a_sweep_are_no_line_to_write(swept: str, places: list[str]) -> None:
    errors = refused(load_yaml(f"{SPEC}\n{swept}"))
    assert [place for place, _ in errors] == places
    assert all("this means training.clip_norm, and so does " in message for _, message in errors)


@pytest.mark.parametrize("other", ["grid: {training.clip: [1, 2], training.clip_norm: [3]}", CLIP_AND_NORM])
def test_a_value_that_belongs_to_another_field_of_the_sweep_is_no_line_to_write(other: str) -> None:
    [(place, message)] = refused(load_yaml(f"{SPEC}\n{other}"))
    assert place == "grid/training.clip"
    assert message.endswith("is clip_norm; the sweep has training.clip_norm, too; remove one of them")


def test_a_list_of_names_may_hold_an_object() -> None:
    errors = refused({**load_yaml(SPEC), "grid": {"norm.method": ["LayerNorm", {"a": 1}]}})
    assert [place for place, _ in errors] == ["grid/norm.method"] * 2


def test_a_uniform_distribution_with_a_step_is_a_choice_of_its_values() -> None:
    text = f"{SPEC}\nrandom: {{norm.eps: {{uniform: {{min: 0.1, max: 0.4, step: 0.1}}}}}}\nsamples: 2"
    line = '"random": {"norm.eps": {"choice": [0.1, 0.2, 0.3, 0.4]}}'
    check_advice(text, "random/norm.eps/uniform", line, is_spelt_out=True)


@pytest.mark.parametrize("given", ["{mean: 0.1, std: 0.5}", "'normal(0, 1)'", "{gaussian: {mu: 0, sigma: 1}}"])
def test_a_normal_distribution_does_not_exist(given: str) -> None:
    [(_, message)] = refused(load_yaml(f"{SPEC}\nrandom: {{norm.eps: {given}}}\nsamples: 2"))
    assert message.startswith("there is no normal distribution; choose from log_uniform, uniform, int_uniform, choice")


def test_a_distribution_in_the_grid_belongs_in_random() -> None:
    [(place, message)] = refused(load_yaml(f"{SPEC}\ngrid: {{norm.eps: {{uniform: [0.1, 0.2]}}}}"))
    assert place == "grid/norm.eps"
    assert message == 'draws belong in random; write "random": {"norm.eps": {"uniform": [0.1, 0.2]}}'


@pytest.mark.parametrize("seeds", ["seeds: [0]", "seed: 0"])
def test_an_adaptive_sweep_does_not_advise_seeds_for_its_spec(seeds: str) -> None:
    [(place, message)] = refused(load_yaml(f"{SPEC}\nadaptive: yes\n{seeds}\ngrid: {{norm.eps: [0.1, 0.2]}}"))
    assert place == seeds.split(":")[0]
    assert message.startswith("an adaptive sweep chooses its seeds, 0 to 2")


def test_too_few_choices_for_the_samples_are_told_with_the_number_to_write() -> None:
    errors = refused(load_yaml(f"{SPEC}\nrandom: {{norm.eps: {{choice: [0.1, 0.001]}}}}\nsamples: 3"))
    wrong = "only 2 different draws were found; set samples to 2 or fewer, or use a grid"
    assert errors == [("samples", wrong)]


def make_body_of_many_errors(n_names: int, n_fields: int) -> dict[str, Any]:
    """Sweep of many specs with objects in random, each with many fields that do not exist."""
    tags = {"task.name": ["permuted_digits"] * 20, "model.cell": ["lstm"] * 18, "norm.method": ["none"] * 20}
    fields = {f"x{k}": {"y": 1} for k in range(n_fields)}
    return {**load_yaml(SPEC), "grid": tags, "random": {f"foo{k}": fields for k in range(n_names)}, "samples": 3}


def test_many_errors_are_advised_in_a_second() -> None:
    began = time.process_time()
    errors = refused(make_body_of_many_errors(5, 20))
    assert time.process_time() - began < 1
    assert [place for place, _ in errors] == [f"random/foo{k}" for k in range(5)]


def test_the_parts_of_each_spec_and_the_names_of_fields_are_found_once(monkeypatch: pytest.MonkeyPatch) -> None:
    find_parts, name_fields = Mock(wraps=part_classes), Mock(wraps=advice._name_fields)
    monkeypatch.setattr(draft, "part_classes", find_parts)
    monkeypatch.setattr(advice, "_name_fields", name_fields)
    refused(make_body_of_many_errors(5, 20))
    assert find_parts.call_count <= 60
    assert [call.args[1:] for call in name_fields.call_args_list] == [("random", f"foo{k}") for k in range(5)]


@pytest.mark.parametrize("end", ["1" * 1000 + "x", "1" * 1001, " " * 1000 + "1"])
def test_an_end_of_a_range_that_is_a_long_text_is_not_read(end: str) -> None:
    body = {**load_yaml(SPEC), "random": {"norm.eps": {"min": end, "max": 2}}, "samples": 3}
    [(place, message)] = refused(body)
    assert place.startswith("random/norm.eps")
    assert message.endswith('"random": {"norm.eps": {"uniform": […, …]}}')


@pytest.mark.parametrize("given", ["1" * 100_000, "1-" * 50_000, "a, " * 30_000, "range(" * 20_000])
def test_a_long_text_is_refused_quickly(given: str) -> None:
    began = time.perf_counter()
    for axis in ("grid", "random"):
        assert len(refused({**load_yaml(SPEC), axis: {"norm.eps": given}, "samples": 2})) == 1
    assert time.perf_counter() - began < 1
