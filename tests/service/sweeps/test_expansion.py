"""A sweep becomes cells: every combination with every draw, each a spec of its own."""

from typing import Any

import pytest

from normcore.spec import TrainingSpec, resolve
from service.errors import Invalid
from service.sweeps.expansion import CellSpec, assignments, cells
from service.sweeps.spec import read
from tests.service.sweeps.sample_sweeps import LR, METHODS, SPEC, posted


def expanded(body: Any) -> list[CellSpec]:
    return cells(read(body), None)


def refused(body: Any) -> list[tuple[tuple[str | int, ...], str]]:
    with pytest.raises(Invalid) as refusal:
        expanded(body)
    return [(error.loc, error.msg) for error in refusal.value.errors]


def test_a_grid_is_every_combination_the_last_field_changing_fastest() -> None:
    found = expanded(posted({**METHODS, LR: [1e-3, 1e-2]}))
    assert [tuple(cell.values.values()) for cell in found] == [
        ("none", 1e-3),
        ("none", 1e-2),
        ("layer_norm", 1e-3),
        ("layer_norm", 1e-2),
    ]
    by_hand = resolve({**SPEC, "norm": {"method": "layer_norm"}, "training": {"optimizer": {"lr": 1e-2}}})
    assert found[3].spec == by_hand
    assert found[3].fingerprint == by_hand.fingerprint()


def test_a_field_in_a_grid_is_applied_over_a_whole_part() -> None:
    norms = [{"method": "recurrent_batch_norm", "gain_init": 0.5}, {"method": "layer_norm"}]
    found = expanded(posted({"norm.eps": [1e-3], "norm": norms}))
    assert [cell.spec.norm and cell.spec.norm.model_dump(include={"method", "eps", "gain_init"}) for cell in found] == [
        {"method": "recurrent_batch_norm", "gain_init": 0.5, "eps": 1e-3},
        {"method": "layer_norm", "gain_init": 1.0, "eps": 1e-3},
    ]


def test_each_draw_meets_each_combination_of_the_grid() -> None:
    body = posted(
        random={LR: {"log_uniform": [1e-4, 1e-2]}, "training.batch_size": {"int_uniform": [8, 64]}}, samples=3
    )
    found = [dict(values) for values in assignments(read(body))]
    draws = [{path: value for path, value in values.items() if path != "norm.method"} for values in found]
    assert [values["norm.method"] for values in found] == ["none"] * 3 + ["layer_norm"] * 3
    assert draws[:3] == draws[3:]
    assert all(1e-4 <= draw[LR] <= 1e-2 and 8 <= draw["training.batch_size"] <= 64 for draw in draws)


def test_draws_do_not_change_with_more_samples_or_another_field() -> None:
    def draws(samples: int, sampler_seed: int = 0, also: Any = None) -> list[float]:
        random = {LR: {"uniform": [1e-4, 1e-2]}, **(also or {})}
        body = posted({}, random=random, samples=samples, sampler_seed=sampler_seed)
        return [values[LR] for values in assignments(read(body))]

    assert draws(3) == draws(5)[:3]
    assert draws(3, also={"norm.eps": {"choice": [1e-5, 1e-3]}}) == draws(3)
    assert draws(3, sampler_seed=1) != draws(3)
    assert len(set(draws(50))) == 50


def test_random_fields_are_drawn_independently() -> None:
    random = {path: {"uniform": [0.0, 1.0]} for path in (LR, "norm.eps")}
    for values in assignments(read(posted({}, random=random, samples=10))):
        assert values[LR] != values["norm.eps"]


def test_log_uniform_draws_have_uniform_logarithms() -> None:
    body = posted({}, random={LR: {"log_uniform": [1e-4, 1e-2]}}, samples=1000)
    below = sum(values[LR] < 1e-3 for values in assignments(read(body)))
    assert 430 < below < 570


def test_draws_are_distinct_and_more_than_exist_are_refused() -> None:
    size = "training.batch_size"
    found = assignments(read(posted({}, random={size: {"int_uniform": [2, 4]}}, samples=3)))
    assert sorted(values[size] for values in found) == [2, 3, 4]
    [(loc, message)] = refused(posted({}, random={size: {"int_uniform": [2, 4]}}, samples=4))
    assert loc == ("samples",)
    assert "only 3 different draws" in message


def test_cells_that_do_not_fit_are_named_one_by_one_by_their_values() -> None:
    found = refused(posted({"norm.method": ["none", "recurrent_batch_norm"], "norm.gain_init": [0.1, 0.5]}))
    assert [loc for loc, _ in found] == [("grid", "norm.gain_init")] * 2
    for (_, message), gain in zip(found, (0.1, 0.5), strict=True):
        assert message.startswith(f'does not fit in the cell norm.method="none", norm.gain_init={gain}: unknown field')


def test_a_field_of_the_spec_that_a_cell_does_not_have_is_named() -> None:
    body = posted({"norm.method": ["none", "layer_norm"]}, spec={**SPEC, "norm": {"eps": 1e-3}})
    [(loc, message)] = refused(body)
    assert loc == ("spec", "norm", "eps")
    assert 'the cell norm.method="none"' in message


@pytest.mark.parametrize(
    ("grid", "path", "told"),
    [
        ({"norm.eps.x": [1]}, "norm.eps.x", "norm.eps is 0.001, which has no field 'x'; leave that out"),
        ({"norm.eps": [0.5], "norm.eps.x.y": ["a"]}, "norm.eps.x.y", "norm.eps is 0.5, which has no field 'x.y'"),
        ({"norm.method.x": [1e-3]}, "norm.method.x", "norm.method is \"layer_norm\", which has no field 'x'"),
        ({"norm.method.eps": [1e-3]}, "norm.method.eps", '"grid": {"norm.eps": [0.001]}'),
    ],
)
def test_a_path_below_a_value_without_fields_is_refused(grid: dict[str, Any], path: str, told: str) -> None:
    body = posted(grid, spec={**SPEC, "norm": {"method": "layer_norm", "eps": 1e-3}})
    [(loc, message)] = refused(body)
    assert loc == ("grid", path)
    assert told in message


def test_an_error_of_all_cells_is_reported_once() -> None:
    [(loc, message)] = refused(posted({"norm.gian_init": [0.1, 0.5], **METHODS}, spec={**SPEC, "seeds": "all"}))[:1]
    assert loc == ("spec", "seeds")
    assert "cell" not in message
    [(loc, message)] = refused(posted({"norm.gian_init": [0.1, 0.5]}, spec={**SPEC, "norm": {"method": "layer_norm"}}))
    assert loc == ("grid", "norm.gian_init")
    assert message == "unknown field; did you mean 'gain_init'?"


def test_a_part_that_is_not_an_object_is_refused_as_in_a_spec() -> None:
    [(loc, message)] = refused(posted({"norm.eps": [1e-3, 1e-5]}, spec={**SPEC, "norm": "layer_norm"}))
    assert loc == ("spec", "norm")
    assert "expected an object" in message


def test_each_of_many_cells_that_do_not_fit_is_named() -> None:
    found = refused(posted({LR: [0.001, *(-float(k) for k in range(1, 1000))]}))
    assert [loc for loc, _ in found] == [("grid", LR)] * 999
    assert [message.split(": ")[0] for _, message in found] == [
        f"does not fit in the cell {LR}={-float(k)}" for k in range(1, 1000)
    ]


def test_a_spec_that_is_wrong_in_thousands_of_places_is_refused_after_one_cell() -> None:
    rates, wrong = [k * 1e-5 for k in range(1, 1001)], {f"field_{k}": 0 for k in range(2000)}
    found = refused(posted({LR: rates}, spec={**SPEC, "model": wrong}))
    assert len(found) == 102
    assert found[0][0] == ("spec", "model", "field_0")
    assert found[100] == (("spec",), "too many errors; 1,900 more errors are not listed")
    assert found[-1] == ((), "too many errors; 999 cells were not checked")


def test_two_cells_that_are_the_same_experiment_are_named() -> None:
    spec = resolve(SPEC)
    assert isinstance(spec, TrainingSpec)
    default = spec.training.optimizer.lr
    [(loc, message)] = refused(posted({"training.optimizer": [{"lr": default}, {}]}))
    assert loc == ("grid",)
    assert message.startswith(
        f'training.optimizer={{}} is the same experiment as training.optimizer={{"lr": {default}}}'
    )


def test_missing_data_is_reported_once(tmp_path: Any) -> None:
    with pytest.raises(Invalid) as refusal:
        cells(read(posted(spec={"task": {"name": "permuted_mnist", "profile": "small"}})), tmp_path)
    [error] = refusal.value.errors
    assert error.type == "dataset"
    assert error.loc[0] == "spec"


def test_an_adaptive_sweep_begins_with_three_seeds_and_has_one_task() -> None:
    assert [cell.spec.seeds for cell in expanded(posted(adaptive=True))] == [[0, 1, 2]] * 2
    [(loc, _)] = refused(posted({"task.name": ["permuted_digits", "sequential_digits"]}, adaptive=True))
    assert loc == ("adaptive",)
    [(loc, _)] = refused(posted(spec={"task": {"name": "invariances"}}, adaptive=True))
    assert loc == ("adaptive",)
