"""Translation from fields to a spec and back: nothing is lost, and nothing is invented."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from normcore.spec import TASKS, resolve
from service.pages.spec_changes import reduce_spec, written_spec
from service.pages.spec_form import form_of

RBN = {"task": {"name": "permuted_digits", "profile": "small"}, "norm": {"method": "recurrent_batch_norm"}}


def sent(spec: Mapping[str, Any], changed: Mapping[str, Sequence[str]] = {}, **controls: str) -> list[tuple[str, str]]:
    """Fields that a browser sends of a spec's form after some were changed."""
    form = form_of(spec)
    pairs = [("shown", json.dumps(form.skeleton)), *controls.items()]
    for name, one in form.fields.items():
        texts = changed.get(name, one.texts or [""])
        pairs += [("none", name)] if one.is_none and name not in changed else []
        pairs += [(name, text) for text in texts]
    return pairs + [("none", group.name) for group in form.all_groups if group.is_none]


@pytest.mark.parametrize("task", TASKS)
def test_unchanged_fields_are_not_written(task: str) -> None:
    form = form_of({"task": {"name": task}})
    spec = written_spec(sent(form.skeleton))
    norm = {"norm": {"method": "none"}} if TASKS[task].takes_norm else {}
    assert spec == {"task": {"name": task, "profile": "small"}, **norm}
    assert form_of(form.skeleton).skeleton == form.skeleton


def test_fields_are_read_as_their_schema_says_and_stay_text_where_they_cannot() -> None:
    changed = {
        "norm.eps": ["1e-3"],
        "norm.momentum": ["much"],
        "norm.sites": ["", "sum", "cell"],
        "norm.carry": ["normalized"],
        "model.bidirectional": ["false", "true"],
        "model.hidden_size": ["64"],
        "training.max_steps": ["1.5"],
        "seeds": ["0, 1  2,x"],
        "labels": ["team: vision\nratio: 1:2"],
    }
    assert written_spec(sent(RBN, changed)) == {
        "task": {"name": "permuted_digits", "profile": "small"},
        "norm": {
            "method": "recurrent_batch_norm",
            "eps": 1e-3,
            "momentum": "much",
            "sites": ["sum", "cell"],
            "carry": "normalized",
        },
        "model": {"bidirectional": True, "hidden_size": 64},
        "training": {"max_steps": 1.5},
        "seeds": [0, 1, 2, "x"],
        "labels": {"team": "vision", "ratio": "1:2"},
    }


def test_an_optional_part_can_be_added_and_removed() -> None:
    shown = form_of(RBN)
    assert [group.name for group in shown.all_groups if group.is_none] == ["training.schedule"]
    some = [pair for pair in sent(RBN) if pair != ("none", "training.schedule")]
    assert written_spec(some)["training"] == {"schedule": {}}
    with_schedule = {**RBN, "training": {"schedule": {"start": 5}}}
    assert written_spec(sent(with_schedule))["training"] == {"schedule": {"start": 5}}
    assert "training" not in written_spec([*sent(with_schedule), ("none", "training.schedule")])


def test_changes_that_still_have_a_field_survive_another_choice() -> None:
    changed = {"norm.eps": ["0.5"], "model.forget_bias": ["2"], "task.name": ["feedforward"]}
    assert written_spec(sent(RBN, changed)) == {
        "task": {"name": "feedforward", "profile": "small"},
        "norm": {"method": "recurrent_batch_norm", "eps": 0.5},
    }
    adam = written_spec(sent(RBN, {"training.optimizer.name": ["adam"], "training.optimizer.lr": ["0.01"]}))
    assert adam["training"] == {"optimizer": {"name": "adam", "lr": 0.01}}


def test_a_change_to_the_default_of_another_choice_is_not_written() -> None:
    changed = {"norm.gain_init": ["1.0"], "norm.method": ["layer_norm"]}
    assert written_spec(sent(RBN, changed))["norm"] == {"method": "layer_norm"}
    assert written_spec(sent(RBN, {"norm.gain_init": ["1.0"]}))["norm"]["gain_init"] == 1.0


def test_a_reset_undoes_its_change_and_reset_all_undoes_all_changes() -> None:
    spec = {**RBN, "seeds": [7], "norm": {"method": "recurrent_batch_norm", "eps": 0.5}}
    assert written_spec(sent(spec, reset="norm.eps")) == {**RBN, "seeds": [7]}
    assert written_spec(sent(spec, reset="all")) == RBN


def test_fields_that_no_form_has_are_kept_for_the_check_to_refuse() -> None:
    pairs = [("task.name", "permuted_digits"), ("norm.epz", "1"), ("norm.method", "layer_norm")]
    assert written_spec(pairs) == {
        "task": {"name": "permuted_digits"},
        "norm": {"epz": "1", "method": "layer_norm"},
    }


@pytest.mark.parametrize("shown", ["", "{", "[1]", '"x"', '{"task": 3, "training": {"optimizer": []}}'])
def test_a_form_with_malformed_hidden_fields_does_no_harm(shown: str) -> None:
    assert written_spec([("shown", shown), ("task.name", "char_lm")])["task"]["name"] == "char_lm"


def test_a_complete_spec_is_reduced_to_what_its_profile_does_not_have() -> None:
    written = {**RBN, "training": {"optimizer": {"name": "adam"}, "clip_norm": None}, "seeds": [1]}
    complete = resolve(written).model_dump(mode="json")
    assert reduce_spec(complete) == written
    assert resolve(reduce_spec(complete)) == resolve(written)
