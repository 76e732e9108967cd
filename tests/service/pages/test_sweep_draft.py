"""The form of a spec as a sweep: from the fields to a sweep's body, and back."""

from typing import Any

import pytest

from normcore.spec import SpecError
from service.pages.spec_form import form_of
from service.pages.sweep_draft import SweepDraft, is_sweep, place_errors, read_body, read_rest, with_methods

LR = "training.optimizer.lr"
SPEC: dict[str, Any] = {"task": {"name": "permuted_digits", "profile": "smoke"}, "norm": {"method": "layer_norm"}}


def with_lr(lr: Any, **parts: Any) -> dict[str, Any]:
    return {**SPEC, "training": {"optimizer": {"lr": lr}}, **parts}


def test_a_spec_without_lists_is_an_experiment() -> None:
    assert SweepDraft(with_lr(0.1)).body() == (with_lr(0.1), [])
    assert SweepDraft(with_lr("tiny")).body() == (with_lr("tiny"), [])


def test_a_field_with_several_values_goes_into_the_grid() -> None:
    body, errors = SweepDraft(with_lr("0.1, 0.3", seeds=[0, 1])).body()
    assert (body, errors) == ({"spec": {**SPEC, "seeds": [0, 1]}, "grid": {LR: [0.1, 0.3]}}, [])
    assert read_body(body).spec == with_lr("0.1, 0.3", seeds=[0, 1])


def test_a_range_that_is_not_clear_is_an_error_at_its_field() -> None:
    _, [error] = SweepDraft(with_lr("1e-4..1e-1")).body()
    assert error.loc == ("training", "optimizer", "lr")
    assert "say how many values" in error.msg


def test_several_methods_are_swept_and_keep_their_own_options() -> None:
    draft = with_methods(SweepDraft(SPEC), ["none", "layer_norm", "no_such_method"])
    assert draft.body()[0] == {"spec": {"task": SPEC["task"]}, "grid": {"norm.method": ["layer_norm", "none"]}}
    assert read_body(draft.body()[0]) == draft
    own = {"method": "layer_norm", "eps": 0.1}
    of_options = with_methods(SweepDraft({**SPEC, "norm": own}), ["none"]).body()[0]
    assert of_options == {"spec": {"task": SPEC["task"]}, "grid": {"norm": [own, {"method": "none"}]}}


def test_what_the_form_does_not_show_is_kept() -> None:
    random = {LR: {"log_uniform": [1e-4, 1e-2]}}
    parts = {"norm": [{"method": "none"}, {"method": "rms_norm"}]}
    body = {
        "spec": {"task": SPEC["task"]},
        "grid": {**parts, "training.batch_size": [8, 16]},
        "random": random,
        "samples": 4,
    }
    draft = read_body(body)
    assert draft.rest == {"grid": parts, "random": random, "samples": 4}
    assert draft.spec["training"] == {"batch_size": "8, 16"}
    assert draft.body() == (body, [])


@pytest.mark.parametrize("text", ["", "{", "[1]", '{"grid": 3}'])
def test_a_hidden_control_that_was_changed_is_ignored(text: str) -> None:
    assert read_rest(text) == {}


def test_a_body_of_wrong_types_is_shown_as_far_as_it_goes() -> None:
    assert not is_sweep({"grid": {}})
    assert read_body({"spec": 3, "grid": 4}).spec == {}


def test_errors_of_a_sweep_stand_at_the_fields() -> None:
    errors = [
        SpecError(loc, "wrong", "x") for loc in (("spec", "norm", "eps"), ("grid", LR, 1), ("samples",), ("grid",))
    ]
    assert [error.loc for error in place_errors(errors, form_of(SPEC))] == [
        ("norm", "eps"),
        ("training", "optimizer", "lr"),
        ("samples",),
        ("grid",),
    ]
