"""A field in the wrong place, or under another name, is refused with the line to write."""

import time
from typing import Any

import pytest

from normcore.spec import InvalidSpec, resolve
from normcore.spec.files import load_yaml

DIGITS: dict[str, Any] = {"task": {"name": "permuted_digits", "profile": "smoke"}}


def refusal(written: Any) -> str:
    with pytest.raises(InvalidSpec) as caught:
        resolve(written)
    return str(caught.value)


@pytest.mark.parametrize(
    ("written", "field", "line"),
    [
        ({"tags": {"team": "vision"}}, "tags", '"labels": {"team": "vision"}'),
        ({"label": "baseline"}, "label", 'write "labels": {…: "baseline"}'),
        ({"label": 3}, "label", 'write "labels": {…: "3"}'),
        ({"label": ["a"]}, "label", 'write "labels": {…: …}'),
        ({"seed": 0}, "seed", '"seeds": [0]'),
        ({"seed": [1, 2]}, "seed", 'write "seeds": [1, 2]'),
        ({"seed": []}, "seed", 'write each seed, as "seeds": [0, 1, 2]'),
        ({"seed": [*range(30)]}, "seed", 'write all 30 numbers, as "seeds": [0, 1, 2, …, 29]'),
        ({"method": "none"}, "method", '"norm": {"method": "none"}'),
        ({"profile": "small"}, "profile", '"task": {"profile": "small"}'),
        ({"hidden_size": 10}, "hidden_size", '"model": {"hidden_size": 10}'),
        ({"lr": 0.001}, "lr", '"training": {"optimizer": {"lr": 0.001}}'),
        ({"learning_rate": 0.001}, "learning_rate", '"training": {"optimizer": {"lr": 0.001}}'),
        ({"training": {"lr": 0.001}}, "training.lr", '"training": {"optimizer": {"lr": 0.001}}'),
        ({"training": {"hidden_size": 8}}, "training.hidden_size", '"model": {"hidden_size": 8}'),
        ({"training": {"iterations": 50}}, "training.iterations", '"training": {"max_steps": 50}'),
        ({"training": {"epochs": 5}}, "training.epochs", 'write "training": {"max_steps": …}'),
        ({"Epochs": 5}, "Epochs", "training.max_steps counts updates of batch_size examples"),
        ({"training.optimizer.lr": 0.1}, "training.optimizer.lr", '"training": {"optimizer": {"lr": 0.1}}'),
        ({"norm": {"name": "layer_norm"}}, "norm.name", '"norm": {"method": "layer_norm"}'),
        ({"norm": {"method": "layer_norm", "gamma": 0.1}}, "norm.gamma", '"norm": {"gain_init": 0.1}'),
        ({"norm": {"method": "layer_norm", "Eps": 0.1}}, "norm.Eps", '"norm": {"eps": 0.1}'),
        ({"model": {"type": "lstm"}}, "model.type", '"model": {"cell": "lstm"}'),
        ({"name": "my first run"}, "name", '"labels": {"name": "my first run"}'),
        ({"normalization": "layer_norm"}, "normalization", '"norm": {"method": "layer_norm"}'),
        ({"Normalisation": {"Method": "none"}}, "Normalisation", '"norm": {"method": "none"}'),
        ({"optimizer": "Adam"}, "optimizer", '"training": {"optimizer": {"name": "adam"}}'),
        ({"Training": {"Optimizer": {"LR": 0.1}}}, "Training", '"training": {"optimizer": {"lr": 0.1}}'),
        ({"Labels": {"Team": "Vision"}}, "Labels", '"labels": {"Team": "Vision"}'),
        ({"model": {"hidden_size:10": None}}, "model.hidden_size:10", 'the colon; write "model": {"hidden_size": 10}'),
        ({"norm": {"method:none": None}}, "norm.method:none", 'the colon; write "norm": {"method": "none"}'),
        ({"grid": {"norm.eps": [1]}}, "grid", "`normbench sweep`"),
        ({"values": []}, "values", "`normbench claim`"),
    ],
)
def test_misplaced_or_misnamed_field_is_answered_with_the_line_to_write(
    written: dict[str, Any], field: str, line: str
) -> None:
    told = refusal({**DIGITS, **written})
    assert told.startswith(f"{field}: unknown field; ")
    assert line in told


def test_parts_that_an_analysis_lacks_are_not_suggested() -> None:
    told = refusal({"task": {"name": "step_cost", "profile": "smoke"}, "max_steps": 8})
    assert told.startswith("max_steps: unknown field; remove it, or choose from spec_version, kind, task,")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("name: permuted_digits", 'put name into task; write "task": {"name": "permuted_digits"}'),
        ("name: my first run", 'put name into task; write "task": {"name": …}'),
        ("tsk: mnist", "did you mean 'task' by 'tsk'? write \"task\": {\"name\": …}"),
        ("tsk: {name: char_lm}", 'did you mean \'task\' by \'tsk\'? write "task": {"name": "char_lm"}'),
        (
            "Task: {Name: char_lm, Profile: smoke}",
            'did you mean \'task\' by \'Task\'? write "task": {"name": "char_lm", "profile": "smoke"}',
        ),
        ("{name:sequential_digits}", 'after the colon; write "task": {"name": "sequential_digits"}'),
        ("task:{name: char_lm}", 'put a space after the colon, as "task": {"name": "permuted_digits"}'),
        ("experiment: {task: {name: char_lm}}", "move the content of 'experiment' to the top level"),
        ("spec: {task: {name: char_lm}}\ngrid: {norm.method: [none]}", "submit the file with `normbench sweep`"),
        ("seeds: [0]", 'add it, as "task": {"name": "permuted_digits"}'),
    ],
)
def test_spec_without_a_task_is_refused_with_the_misplaced_field(text: str, told: str) -> None:
    assert refusal(load_yaml(text)).startswith("task: it is required; ")
    assert told in refusal(load_yaml(text))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("task: {name:char_lm}", 'put a space after the colon; write "task": {"name": "char_lm"}'),
        ("task:\n  name:char_lm", 'put a space after the colon; write "task": {"name": "char_lm"}'),
        ("task: {Name: char_lm}", 'did you mean \'name\' by \'Name\'? write "task": {"name": "char_lm"}'),
        ("task: {Name: 3}", "did you mean 'name' by 'Name'? write \"task\": {\"name\": …}"),
        ("task: {name: null}", "choose from attentive_reader,"),
    ],
)
def test_task_whose_name_is_written_in_another_way_is_refused_with_the_line_to_write(text: str, told: str) -> None:
    assert refusal(load_yaml(text)).startswith(f"task.name: it is required; {told}")


@pytest.mark.parametrize("key", ["a." * 100_000, "norm:" + "[" * 100_000, "seed:" * 100_000, "a" * 900_000])
def test_long_key_is_refused_in_little_time(key: str) -> None:
    began = time.process_time()
    assert "unknown field; remove it" in refusal({**DIGITS, key: 1})
    assert "unknown field; remove it" in refusal({**DIGITS, "norm": {key: 1}})
    assert time.process_time() - began < 0.2


@pytest.mark.parametrize(
    "written",
    [
        {f"aqwertzui{k}": {} for k in range(40_000)},
        {"task": {f"aqwertzui{k}": k for k in range(40_000)}},
        {**DIGITS, "norm": [{f"aqwertzui{k}": k} for k in range(40_000)]},
        {**DIGITS, "training": [{f"aqwertzui{k}": k} for k in range(40_000)]},
    ],
)
def test_many_keys_are_refused_in_little_time(written: Any) -> None:
    refusal({**DIGITS, "norm": ["a"]})  # what is computed once is computed now
    began = time.process_time()
    refusal(written)
    assert time.process_time() - began < 0.2


def test_unknown_field_beside_an_optimizer_whose_name_is_a_list_is_refused() -> None:
    told = refusal({**DIGITS, "training": {"optimizer": {"name": [1]}, "lr_decay": 1}})
    assert "training.lr_decay: unknown field" in told
