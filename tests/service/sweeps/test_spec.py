"""Invalid sweeps are refused, with the field and the repair, before a single cell is made."""

import random
import time
from typing import Any

import pytest

from normcore.spec.files import load_yaml
from service.errors import Invalid
from service.sweeps.distribution import Distribution
from service.sweeps.spec import read
from tests.service.sweeps.sample_sweeps import LR, METHODS, SPEC, posted

RATE = {"log_uniform": [1e-4, 1e-2]}


def refused(body: Any) -> list[tuple[str, str]]:
    """Errors of a refused sweep: place, and part of the message."""
    with pytest.raises(Invalid) as refusal:
        read(body)
    return [("/".join(map(str, error.loc)), error.msg) for error in refusal.value.errors]


@pytest.mark.parametrize(
    ("body", "where", "told"),
    [
        ([], "", 'a sweep is an object, as {"spec": '),
        ({"grid": METHODS}, "spec", "it is required"),
        ({"spec": 5, "grid": METHODS}, "spec", 'expected an object; add it, as "spec": {"task": {"name": '),
        ({"spec": SPEC}, "grid", "a sweep needs at least one field"),
        ({"spec": SPEC, "gird": METHODS}, "gird", "did you mean 'grid'?"),
        (posted({"norm.method": []}), "grid/norm.method", "give 1 or more"),
        (posted({"norm.method": "none"}), "grid/norm.method", "expected a list"),
        (posted({"nrom": ["none"]}), "grid/nrom", "did you mean 'norm'?"),
        (posted({"[key]": 1}), "grid/[key]", "not a field that a result depends on"),  # type: ignore[dict-item]
        (posted({"optimizer": ["adam", "SGD"]}), "grid/optimizer", "unknown 'SGD' in training.optimizer.name; choose"),
        (posted({"norm.": ["none"]}), "grid/norm.", "a field's name is empty"),
        (posted({"seeds": [[0], [1]]}), "grid/seeds", "write seeds into the sweep's spec"),
        (posted({"seed": 3}), "grid/seed", "write seeds into the sweep's spec"),  # type: ignore[dict-item]
        (posted({"foo": {"a": 1}}), "grid/foo", "not a field that a result depends on"),  # type: ignore[dict-item]
        (posted(random={"foo": 1}, samples=1), "random/foo", "not a field that a result depends on"),
        (posted(random={"foo": [1, 2]}, samples=1), "random/foo", "not a field that a result depends on"),
        (posted({"device": ["cpu", "cuda"]}), "grid/device", "write device into the sweep's spec"),
        (posted(random={LR: RATE}), "samples", "say how many draws"),
        (posted(samples=3), "samples", "nothing is drawn"),
        (posted(random={LR: RATE}, samples=0), "samples", "greater than or equal to 1"),
        (
            posted(random={LR: {}}, samples=1),
            f"random/{LR}",
            "give one of log_uniform, uniform, int_uniform and choice",
        ),
        (posted(random={LR: {**RATE, "choice": [1]}}, samples=1), f"random/{LR}", "give one of"),
        (posted(random={LR: {"log_unifrom": [1, 2]}}, samples=1), f"random/{LR}/log_unifrom", "mean 'log_uniform'?"),
        (posted(random={LR: {"log_uniform": [0, 1]}}, samples=1), f"random/{LR}/log_uniform/0", "greater than 0"),
        (posted(random={LR: {"uniform": [2, 1]}}, samples=1), f"random/{LR}", "give the least first"),
        (
            posted(random={LR: {"int_uniform": [1.5, 2]}}, samples=1),
            f"random/{LR}/int_uniform/0",
            "expected a whole number, not 1.5",
        ),
        (posted(random={LR: {"uniform": [-1e308, 1e308]}}, samples=3), f"random/{LR}", "wider than any number"),
        ({"spec": SPEC, "grid": {1: [2]}}, "grid/1", "a field's name is text, as norm.eps"),
        ({"spec": SPEC, "random": {1: RATE}, "samples": 1}, "random/1", "a field's name is text"),
        ({"spec": SPEC, "random": {1: {"x": 2}}, "samples": 1}, "random/1", "a field's name is text"),
        ({"spec": SPEC, "random": {None: {}}, "samples": 1}, "random/None", "a field's name is text"),
        ({"spec": {1: 2}, "grid": METHODS}, "spec/1", "a field's name is text"),
        ({"spec": SPEC, "grid": METHODS, 1: 2}, "1", "a field's name is text"),
        (posted({LR: [1e-3]}, random={LR: RATE}, samples=1), f"random/{LR}", "the grid has this field, too"),
        (posted(spec={**SPEC, "seeds": [0]}, adaptive=True), "spec/seeds", "leave them out"),
        (
            posted({LR: [k * 1e-5 for k in range(1, 34)]}, adaptive=True),
            "adaptive",
            "may have 32 cells, and this has 33",
        ),
        (posted({LR: [1e-3] * 1001}), "grid", "1,001 cells, and a sweep may have 1,000"),
        (posted(random={LR: {"choice": [1e-3] * 1001}}, samples=1), f"random/{LR}/choice", "give 1,000 or fewer"),
        (posted(spec={**SPEC, "seeds": [*range(1000)]}, random={LR: RATE}, samples=6), "grid", "12,000 runs"),
        (posted({}, random={LR: RATE}, samples=1001), "samples", "1,001 cells"),
    ],
)
def test_an_invalid_sweep_is_refused_with_the_place_of_the_error(body: Any, where: str, told: str) -> None:
    [(loc, message)] = refused(body)
    assert loc == where
    assert told in message


def sweep(text: str) -> Any:
    return load_yaml(f"spec: {{task: {{name: permuted_digits}}}}\n{text}")


@pytest.mark.parametrize(
    ("text", "where", "line"),
    [
        ("grid: {lr: [.1]}", "grid/lr", '"grid": {"training.optimizer.lr": [0.1]}'),
        ("grid: {Learning_Rate: [.1]}", "grid/Learning_Rate", '"grid": {"training.optimizer.lr": [0.1]}'),
        ("grid: {method: [none, LayerNorm]}", "grid/method", '"grid": {"norm.method": ["none", "layer_norm"]}'),
        ("grid: {norm: [none, LayerNorm]}", "grid/norm", '"grid": {"norm.method": ["none", "layer_norm"]}'),
        ("grid: {task: [char_lm, draw]}", "grid/task", '"grid": {"task.name": ["char_lm", "draw"]}'),
        ("grid: {norm.type: [none, LayerNorm]}", "grid/norm.type", '"grid": {"norm.method": ["none", "layer_norm"]}'),
        (
            "grid: {optimizer: [Adam, RMSprop]}",
            "grid/optimizer",
            '"grid": {"training.optimizer.name": ["adam", "rmsprop"]}',
        ),
        ("grid: {training.lr: [0.1]}", "grid/training.lr", '"grid": {"training.optimizer.lr": [0.1]}'),
        ("grid: {eps: [1e-3]}", "grid/eps", '"grid": {"norm.eps": [0.001]}'),
        ("grid: {nrom.method: [none]}", "grid/nrom.method", '"grid": {"norm.method": ["none"]}'),
        (
            "grid: {norm.method: [none, layer_norm], gain_init: [1]}",
            "grid/gain_init",
            '"grid": {"norm.gain_init": [1]}',
        ),
        (
            "grid: {training: {optimizer: {lr: [.1, .2]}, batch_size: 8}}",
            "grid/training",
            '"grid": {"training.optimizer.lr": [0.1, 0.2], "training.batch_size": [8]}',
        ),
        (
            "random: {training: {optimizer: {lr: {log_uniform: [1e-4, 1e-2]}}}}\nsamples: 2",
            "random/training",
            '"random": {"training.optimizer.lr": {"log_uniform": [0.0001, 0.01]}}',
        ),
        ("grid: [norm.method]", "grid", '"grid": {"norm.method": ["none", "layer_norm"]}'),
        ("seeds: [0, 1]\ngrid: {norm.method: [none]}", "seeds", 'belongs in spec; write "spec": {"seeds": [0, 1]}'),
        ("seed: 3\ngrid: {norm.method: [none]}", "seed", '"spec": {"seeds": [3]}'),
        ("seeds: 0-2\ngrid: {norm.method: [none]}", "seeds", 'write "spec": {"seeds": [0, 1, 2]}'),
        ("name: first\ngrid: {norm.method: [none]}", "name", '"spec": {"labels": {"name": "first"}}'),
        ("lr: 0.1\ngrid: {norm.method: [none]}", "lr", '"spec": {"training": {"optimizer": {"lr": 0.1}}}'),
        (f"{LR}: 0.1\ngrid: {{norm.method: [none]}}", LR, '"grid": {"training.optimizer.lr": [0.1]}'),
    ],
)
def test_misplaced_field_of_a_sweep_is_refused_with_the_line_to_write(text: str, where: str, line: str) -> None:
    [(loc, message)] = refused(sweep(text))
    assert loc == where
    assert line in message


def test_fields_beside_the_grid_are_written_below_spec_as_a_spec_takes_them() -> None:
    body = {"task": "permuted_digits", "norm": "LayerNorm", "seeds": 3, "training": 5, "grid": METHODS}
    told = dict(refused(body))["spec"]
    assert told.startswith("it is required; put task and norm and seeds and training below spec; write ")
    fields = '"task": {"name": "permuted_digits"}, "norm": {"method": "layer_norm"}, "seeds": …, "training": …'
    assert f'write "spec": {{{fields}}}'[:100] in told


@pytest.mark.parametrize("part", [{None: 3}, {None: [3]}, {3: [3]}, {True: [3]}, {"foo": 1, "eps": 1}])
def test_objects_with_an_unknown_name_get_no_line(part: Any) -> None:
    told = "a field is written with its dotted name, as norm.eps"
    assert refused(posted({"norm": part})) == [("grid/norm", told)]


@pytest.mark.parametrize(
    "grid",
    [
        {"norm": [f"aqwertzui{k}" for k in range(40_000)]},
        {"norm.method": [f"aqwertzui{k}" for k in range(40_000)]},
        {f"norm.me{'_' * k}thod": ",".join(f"a{k}" for k in range(240)) for k in range(100)},
        {f"norm.e{'_' * k}ps": ",".join(f"a{k}" for k in range(240)) for k in range(100)},
    ],
)
def test_many_names_are_refused_in_little_time(grid: Any) -> None:
    refused(posted({"norm": ["foo"]}))  # what is computed once is computed now
    began = time.process_time()
    refused(posted(grid))
    assert time.process_time() - began < 0.7


def test_spec_written_beside_the_grid_is_refused_with_the_lines_to_write() -> None:
    body = load_yaml("task: {name: char_lm}\nnorm: {method: none}\ngrid: {norm.eps: [1e-3]}")
    assert refused(body)[0] == (
        "spec",
        'it is required; put task and norm below spec; write "spec": {"task": {"name": "char_lm"}, "norm": {"method":'
        ' "none"}}',
    )
    empty = load_yaml("spec:\ntask: {name: char_lm}\ngrid: {norm.eps: [1e-3]}")
    assert refused(empty)[0] == (
        "spec",
        'it is required; put task below spec; write "spec": {"task": {"name": "char_lm"}}',
    )


def test_the_widest_range_of_numbers_can_be_drawn_from() -> None:
    drawn = Distribution.model_validate({"uniform": [-8e307, 8e307]}).draw(random.Random(0))
    assert -8e307 <= drawn <= 8e307


def test_ten_million_cells_are_refused_at_once() -> None:
    body = posted({LR: [k / 1e6 for k in range(1, 4001)], "training.max_steps": list(range(1, 2501))})
    began = time.perf_counter()
    assert refused(body) == [("grid", "10,000,000 cells, and a sweep may have 1,000; use fewer values or draws")]
    assert time.perf_counter() - began < 1


def test_cells_and_runs_are_counted_before_they_are_made() -> None:
    sweep = read(posted(spec={**SPEC, "seeds": [0, 1, 2]}, random={LR: RATE}, samples=5))
    assert (sweep.n_cells, sweep.most_runs) == (10, 30)
    assert (sweep.reuse, sweep.adaptive, sweep.sampler_seed) == (True, False, 0)
    assert read(posted(adaptive=True)).most_runs == 2 * 20


def test_omitted_fields_of_a_sweep_are_added_and_nulls_of_its_spec_stay() -> None:
    spec = {**SPEC, "training": {"clip_norm": None}}
    assert read(posted(spec=spec, random={LR: {"choice": [None]}}, samples=1)).complete == {
        "spec": spec,
        "grid": METHODS,
        "random": {LR: {"choice": [None]}},
        "samples": 1,
        "sampler_seed": 0,
        "reuse": True,
        "adaptive": False,
    }
