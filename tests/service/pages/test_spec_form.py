"""Fields of a spec's form, and their controls."""

from typing import Any

import pytest

from normcore.spec import TASKS
from service.pages.spec_form import form_of

PIXELS = {"task": {"name": "permuted_digits", "profile": "small"}, "norm": {"method": "recurrent_batch_norm"}}


@pytest.mark.parametrize(
    ("name", "kind", "default", "nullable"),
    [
        ("norm.carry", "choice", "raw", False),
        ("norm.sites", "several", ["input", "recurrent", "cell"], False),
        ("norm.eps", "number", 1e-5, False),
        ("model.cell", "choice", "lstm", False),
        ("model.hidden_size", "whole", 100, False),
        ("model.recurrent_init", "select", "orthogonal", False),
        ("model.bidirectional", "switch", False, False),
        ("training.optimizer.name", "choice", "rmsprop", False),
        ("training.optimizer.lr", "number", 0.002, False),
        ("training.clip_norm", "number", 1.0, True),
        ("task.examples", "whole", None, True),
        ("seeds", "list", [0], False),
        ("labels", "pairs", {}, False),
    ],
)
def test_a_field_is_asked_for_as_its_schema_says(name: str, kind: str, default: Any, nullable: bool) -> None:
    field = form_of(PIXELS).fields[name]
    assert (field.kind, field.default, field.nullable) == (kind, default, nullable)


def test_defaults_of_fields_are_those_of_the_profile() -> None:
    paper = form_of({"task": {"name": "permuted_digits", "profile": "paper"}})
    assert paper.fields["training.max_steps"].default == 2400
    assert form_of(PIXELS).fields["training.max_steps"].default == 200


def test_the_choice_of_a_cell_or_an_optimizer_decides_fields_and_defaults() -> None:
    form = form_of({**PIXELS, "model": {"cell": "rnn"}, "training": {"optimizer": {"name": "adam"}}})
    assert "model.forget_bias" not in form.fields
    assert form.fields["norm.sites"].default == ["sum"]
    assert form.fields["training.optimizer.beta2"].default == 0.999
    assert form.fields["training.optimizer.name"].default == "rmsprop"


@pytest.mark.parametrize("task", TASKS)
def test_every_option_of_every_task_has_a_field_of_a_known_kind(task: str) -> None:
    form = form_of({"task": {"name": task}})
    assert all(field.kind != "any" for field in form.fields.values())
    assert {"seeds", "device", "priority", "labels"} <= form.fields.keys()
    assert ("norm.method" in form.fields) == TASKS[task].takes_norm


@pytest.mark.parametrize("written", [{}, {"task": 3}, {"task": {"name": []}}, {"task": {"name": "x", "profile": {}}}])
def test_a_spec_that_names_no_task_gets_the_form_of_the_first_task(written: Any) -> None:
    assert form_of(written).skeleton["task"] == {"name": "permuted_digits", "profile": "small"}
