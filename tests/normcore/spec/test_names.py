"""Names of specs, entries and cells of sweeps."""

from collections import defaultdict
from itertools import product
from typing import Any

import pytest

from normcore.problem import problem_of
from normcore.spec import InvalidSpec, changes, resolve
from normcore.spec.experiment import TrainingSpec
from normcore.spec.methods import METHODS
from normcore.spec.names import (
    cell_names,
    changes_of,
    differences,
    name,
    name_of_spec,
    names_apart,
    option,
    write_shared_changes,
)
from normcore.spec.optimizers import OPTIMIZERS
from normcore.spec.resolve import _flat
from normcore.spec.tasks import BENCHMARKS

SMOKE = {"name": "permuted_digits", "profile": "smoke"}


def spec(**parts: Any) -> TrainingSpec:
    found = resolve({"task": SMOKE, "norm": {"method": "recurrent_batch_norm"}, **parts})
    assert isinstance(found, TrainingSpec)
    return found


def test_unchanged_profile_is_named_by_its_method_only() -> None:
    assert name("layer_norm", changes(spec(norm={"method": "layer_norm"}))) == "layer_norm"


def test_every_difference_from_the_profile_is_part_of_the_name() -> None:
    tuned = spec(norm={"method": "layer_norm", "eps": 1e-8}, training={"optimizer": {"lr": 0.004}})
    assert name("layer_norm", changes(tuned)) == "layer_norm (norm.eps 1e-08, lr 0.004)"


def test_options_with_the_same_name_in_two_parts_get_distinct_names() -> None:
    assert differences({"norm.momentum": 0.5}) == "norm.momentum 0.5"
    assert differences({"training.optimizer.momentum": 0.5}) == "optimizer.momentum 0.5"


def test_no_two_options_of_any_spec_have_the_same_name() -> None:
    paths = set[str]()
    for (task, benchmark), method, optimizer in product(BENCHMARKS.items(), METHODS, OPTIMIZERS):
        for profile in benchmark.profiles:
            parts = {"task": {"name": task, "profile": profile}, "norm": {"method": method}}
            for training in ({}, {"optimizer": {"name": optimizer, "lr": 0.1}}, {"schedule": {"start": 1}}):
                try:
                    paths |= _flat(resolve({**parts, "training": training})).keys()
                except InvalidSpec:
                    continue
    named = defaultdict[str, set[str]](set)
    for path in paths - {"task.name", "task.profile"}:  # no spec changes these two: they name its profile
        named[option(path)].add(path)
    assert len(named) > 60
    assert {text: found for text, found in named.items() if len(found) > 1 and text != "schedule"} == {}
    assert named["schedule"] == {"training.schedule", "training.schedule.name"}, "null, or which one: never both"


def test_chosen_kind_stands_before_its_options() -> None:
    found = {"training.optimizer.lr": 0.1, "training.optimizer.name": "adam", "model.cell": "gru"}
    assert differences(found) == "cell gru, optimizer adam, lr 0.1"


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (0.1234567890123, "lr 0.1234567890123"),
        (None, "lr none"),
        (True, "lr true"),
        (["input", "cell"], "lr [input, cell]"),
        ("a1" * 32, "lr a1a1a1a1a1a1…"),
    ],
)
def test_values_stand_in_full_and_digests_are_shortened(value: Any, told: str) -> None:
    assert differences({"training.optimizer.lr": value}) == told


def test_name_of_an_entry_omits_the_problem_and_name_of_an_experiment_has_it() -> None:
    other = resolve({"task": {**SMOKE, "permutation_seed": 7}, "norm": {"method": "layer_norm"}})
    assert isinstance(other, TrainingSpec)
    assert name("layer_norm", changes(other)) == "layer_norm"
    assert name_of_spec(other.model_dump(mode="json")) == "layer_norm (permutation_seed 7)"


def test_entries_that_differ_only_in_their_pictures_have_different_names() -> None:
    usual, other = (
        resolve({"task": {"name": "handwriting", "profile": "smoke", **text}, "norm": {"method": "none"}})
        for text in ({}, {"text": "abc"})
    )
    assert isinstance(usual, TrainingSpec)
    assert isinstance(other, TrainingSpec)
    assert problem_of(usual.task).id == problem_of(other.task).id
    assert (name("none", changes(usual)), name("none", changes(other))) == ("none", "none (text abc)")


def test_analysis_is_named_by_its_method_or_has_no_name() -> None:
    found = resolve({"task": {"name": "invariances"}, "norm": {"method": "rms_norm"}})
    assert name_of_spec(found.model_dump(mode="json")) == "rms_norm"
    assert name_of_spec({"task": {"name": "hidden_dynamics"}, "norm": None, "model": {"cell": "rnn"}}) is None


def test_spec_of_a_missing_plug_in_is_named_by_its_method() -> None:
    stored = {**spec().model_dump(mode="json"), "norm": {"method": "gone_norm", "strength": 3}}
    assert name_of_spec(stored) == "gone_norm"
    assert changes_of({"task": {"name": "gone_task"}}) == {}


LR = "training.optimizer.lr"


def test_cell_of_a_sweep_is_named_by_its_values_with_enough_digits() -> None:
    assert cell_names([{"norm.method": "none", LR: 0.0012345678}]) == ["method none, lr 0.001235"]
    assert cell_names([{LR: 0.00123457}, {LR: 0.00123458}]) == ["lr 0.00123457", "lr 0.00123458"]
    assert cell_names([{LR: 0.1 + 0.2}, {LR: 0.3}]) == ["lr 0.30000000000000004", "lr 0.3"]
    assert cell_names([]) == []


def test_changes_that_all_cells_of_a_sweep_share_are_named_once() -> None:
    cells = [{LR: 0.1, "training.batch_size": 7, "model.cell": "gru"}, {"training.batch_size": 7, "model.cell": "rnn"}]
    assert write_shared_changes(cells, [LR]) == "batch_size 7"
    assert write_shared_changes(cells[:1], [LR]) == "cell gru, batch_size 7"
    assert write_shared_changes([], []) == ""


def test_changes_that_all_names_share_are_left_out_of_a_text() -> None:
    assert names_apart(["none (lr 0.1)", "rms_norm (lr 0.1)"]) == ["none", "rms_norm"]
    for names in (["none (lr 0.1)", "rms_norm (lr 0.2)"], ["none", "rms_norm (lr 0.2)"], ["none", "none"], []):
        assert names_apart(names) == names
