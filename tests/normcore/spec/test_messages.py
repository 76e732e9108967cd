"""Messages of pydantic are replaced by messages that say how to repair the input."""

import time
from typing import Any

import pytest
from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError

from normcore.spec import InvalidSpec, resolve
from normcore.spec.messages import message, nearest, suggestion

DIGITS: dict[str, Any] = {"task": {"name": "permuted_digits", "profile": "smoke"}}


class Moment(BaseModel):
    model_config = ConfigDict(extra="forbid")

    at: AwareDatetime


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ({"at": "2026-11-25T12:00:00"}, "say in which time zone it is, as 2026-11-25T12:00:00Z"),
        ({"at": "noon"}, "expected a moment with its time zone, as 2026-11-25T12:00:00Z"),
        ({"at": "2026-11-25T12:00:00Z", "zone": "UTC"}, "unknown field; remove it"),
        ({}, "it is required; add it"),
    ],
)
def test_message_of_pydantic_is_replaced_by_a_repair(written: Any, said: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        Moment.model_validate(written)
    assert [message(error) for error in refusal.value.errors()] == [said]


@pytest.mark.parametrize(
    ("written", "told"),
    [
        (
            {"device": "gpu"},
            "device: expected 'auto', 'cpu' or 'cuda'; did you mean 'cuda'? write \"device\": \"cuda\"",
        ),
        (
            {"device": "CPU"},
            "device: expected 'auto', 'cpu' or 'cuda'; did you mean 'cpu'? write \"device\": \"cpu\"",
        ),
        ({"device": "tpu!"}, "device: expected 'auto', 'cpu' or 'cuda'"),
        ({"seeds": 5}, 'seeds: expected a list; write "seeds": [0, 1, 2, 3, 4], or [5] for seed 5 alone'),
        ({"seeds": 0}, 'seeds: expected a list; write "seeds": [0]'),
        ({"seeds": 40_000}, 'seeds: expected a list; write "seeds": [40000]'),
        ({"seeds": "3-5"}, 'seeds: expected a list; write "seeds": [3, 4, 5]'),
        ({"seeds": "7, 9"}, 'seeds: expected a list; write "seeds": [7, 9]'),
        ({"seeds": "0:5:0"}, 'seeds: expected a list; write each seed, as "seeds": [0, 1, 2]'),
        ({"seeds": "range(0, 5, 0)"}, 'seeds: expected a list; write each seed, as "seeds": [0, 1, 2]'),
        ({"seeds": "0-5000"}, 'seeds: expected a list; give 1,000 or fewer, as "seeds": [0, 1, 2]'),
        ({"device": ["cpu", "cuda"]}, "device: expected 'auto', 'cpu' or 'cuda'"),
        ({"seeds": [1.0]}, "seeds.0: expected a whole number; write 1"),
        ({"labels": {"try": 3}}, 'labels.try: expected text; put it in quotes: "labels": {"try": "3"}'),
        ({"labels": {"ok": True}}, 'labels.ok: expected text; put it in quotes: "labels": {"ok": "true"}'),
        ({"labels": ["a"]}, 'labels: expected an object of names and values; write "labels": {…: …}'),
        ({"labels": "a"}, 'labels: expected an object of names and values; write "labels": {…: "a"}'),
        ({"priority": "high"}, "priority: expected a whole number, not 'high'"),
        (
            {"model": {"hidden_size": "10"}},
            'model.hidden_size: expected a whole number without quotes; write "model": {"hidden_size": 10}',
        ),
        (
            {"training": {"optimizer": {"lr": "1e-3"}}},
            'training.optimizer.lr: expected a number without quotes; write "training": {"optimizer": {"lr": 0.001}}',
        ),
        (
            {"training": {"max_steps": 1e3}},
            'training.max_steps: expected a whole number; write "training": {"max_steps": 1000}',
        ),
        ({"training": {"max_steps": 0.5}}, "training.max_steps: expected a whole number, not 0.5"),
        ({"training": {"target": "inf"}}, "training.target: expected a number, not 'inf'"),
        (
            {"norm": {"method": "layer_norm", "sites": "input"}},
            'norm.sites: expected a list; write "norm": {"sites": ["input"]}',
        ),
        (
            {"training": {"clip_norm": -1}},
            "training.clip_norm: expected a number greater than 0, not -1; null clips nothing",
        ),
        ({"training": {"batch_size": 0}}, "training.batch_size: expected a number greater than or equal to 1, not 0"),
        ({"norm": {"method": "layer_norm", "eps": 0.0}}, "norm.eps: expected a number greater than 0, not 0.0"),
        ({"priority": 10}, "priority: expected a number less than or equal to 9, not 10"),
        ({"norm": "LayerNorm"}, 'norm: expected an object, as {"method": "layer_norm"}'),
        ({"norm": None}, 'norm: expected an object, as {"method": "none"}'),
        (
            {"model": {"bidirectional": "True"}},
            'model.bidirectional: expected true or false, without quotes; write "model": {"bidirectional": true}',
        ),
    ],
)
def test_value_of_the_wrong_type_is_refused_with_the_text_to_write(written: dict[str, Any], told: str) -> None:
    with pytest.raises(InvalidSpec) as caught:
        resolve({**DIGITS, **written})
    assert str(caught.value) == told


@pytest.mark.parametrize(
    ("given", "known", "meant"),
    [
        ("LayerNorm", ["batch_norm", "layer_norm"], ["layer_norm"]),
        ("ln", ["none", "layer_norm"], ["layer_norm"]),
        ("taks", ["task", "seeds"], ["task"]),
        ("lstn", ["lstm", "gru"], ["lstm"]),
        ("tags", ["task", "seeds"], []),
        ("mnist", ["permuted_mnist", "char_lm", "sequential_mnist"], ["permuted_mnist", "sequential_mnist"]),
        ("norm", ["layer_norm", "batch_norm", "rms_norm"], []),
        (3, ["3"], []),
    ],
)
def test_nearest_name_is_found_by_letters_other_names_and_words(given: Any, known: list[str], meant: list[str]) -> None:
    assert nearest(given, known) == meant


def test_suggestion_of_several_names_is_a_single_question() -> None:
    assert suggestion("mnist", ["permuted_mnist", "sequential_mnist"]) == (
        "did you mean 'permuted_mnist' or 'sequential_mnist'? "
    )


@pytest.mark.parametrize(
    "text",
    [
        "3 seeds",
        "first 5",
        "list(range(5))",
        "seeds 0 to 4",
        "0-4, 7",
        "0,1,2,...,9",
        "range(1 2)",
        "range()",
        "range(1, 2, 3, 4)",
        "range(one)",
        "1, 2,",
        "1.5, 2",
    ],
)
def test_text_with_more_than_numbers_is_answered_with_an_example(text: str) -> None:
    with pytest.raises(InvalidSpec) as caught:
        resolve({**DIGITS, "seeds": text})
    assert str(caught.value) == 'seeds: expected a list; write each seed, as "seeds": [0, 1, 2]'


@pytest.mark.parametrize("text", ["[0, 1, 2]", "0, 1, 2", "0 1 2", "0,1,2", "0-2", "0:3", ":3", "range(3)"])
def test_text_that_is_one_list_or_one_range_is_answered_with_its_numbers(text: str) -> None:
    with pytest.raises(InvalidSpec) as caught:
        resolve({**DIGITS, "seeds": text})
    assert str(caught.value) == 'seeds: expected a list; write "seeds": [0, 1, 2]'


@pytest.mark.parametrize(
    "text",
    [
        f"range(1{' ' * 500}1{' ' * 500}x",  # took 1 s
        f"range({'1 ' * 5000}x",
        f"0{' ' * 10_000}-{' ' * 10_000}x",
        f"0{'.' * 10_000}x",
        "1" * 10_000,
        "1," * 5000,
        f"[{'1 ' * 5000}",
        "1:" * 5000,
        "-" * 10_000,
    ],
)
@pytest.mark.parametrize("field", ["seeds", "device", "priority", "labels", "norm", "training", "task", "seed:"])
def test_long_hostile_text_is_refused_in_little_time(field: str, text: str) -> None:
    with pytest.raises(InvalidSpec):
        resolve({**DIGITS, field: "x"})  # what is computed once is computed now
    began = time.process_time()
    with pytest.raises(InvalidSpec):
        resolve({**DIGITS, field: text})
    assert time.process_time() - began < 0.05
