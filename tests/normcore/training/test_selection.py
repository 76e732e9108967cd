"""Selection of a model: the first of the best models, or the mean of the last evaluations."""

import io
from typing import Any

import pytest
import torch
from torch import nn

from normcore.spec import TrainingSpec
from normcore.spec.tasks.benchmark import Best, LastMean
from normcore.training.selection import BestModel, LastModels, SelectedModel, Selection, selection_of, weights_of
from tests.normcore.training_specs import training_spec


def spec(task: str = "feedforward", max_steps: int = 20, eval_every: int = 3) -> TrainingSpec:
    training = {"max_steps": max_steps, "eval_every": eval_every}
    return training_spec({"task": {"name": task, "profile": "smoke"}, "training": training})


def model(value: float) -> nn.Linear:
    made = nn.Linear(1, 1)
    nn.init.constant_(made.weight, value)
    return made


def values(valid: float, test: float | None = None, metric: str = "accuracy") -> dict[str, float]:
    tested = {} if test is None else {f"test.{metric}": test}
    return {"train.loss": 0.5, f"valid.{metric}": valid, "valid.loss": 1 - valid, **tested}


def test_selection_rule_is_that_of_the_task() -> None:
    for name in ("permuted_digits", "char_lm"):
        assert isinstance(spec(name).task.selection, Best)
        assert isinstance(selection_of(spec(name)), BestModel)
    for name in ("feedforward", "convnet"):
        assert isinstance(spec(name).task.selection, LastMean)
        assert isinstance(selection_of(spec(name)), LastModels)


# -- the best --------------------------------------------------------------------------------------


def best_of(*accuracies: float) -> Selection:
    selection = selection_of(spec("permuted_digits"))
    for k, accuracy in enumerate(accuracies, 1):
        assert not selection.tests_at(10 * k), "only the best is tested, at the end"
        selection.consider(10 * k, values(accuracy), model(float(k)))
    return selection


def test_the_first_of_the_best_models_is_selected() -> None:
    selected = best_of(0.5, 0.75, 0.25, 0.75).find_selected()
    assert selected is not None
    assert (selected.step, selected.valid) == (20, {"accuracy": 0.75, "loss": 0.25})
    assert selected.weights is not None
    assert selected.weights["weight"].item() == 2.0
    assert selected.test is None


def test_without_an_evaluation_nothing_is_selected() -> None:
    assert best_of().find_selected() is None


def test_the_weights_are_a_copy() -> None:
    changing = model(1.0)
    selection = selection_of(spec("permuted_digits"))
    selection.consider(1, values(0.5), changing)
    nn.init.constant_(changing.weight, 9.0)
    selected = selection.find_selected()
    assert selected is not None
    assert selected.weights is not None
    assert selected.weights["weight"].item() == 1.0


def test_the_language_model_is_selected_by_accuracy_not_by_its_loss() -> None:
    selection = selection_of(spec("char_lm"))
    selection.consider(1, {"valid.accuracy": 0.5, "valid.bits_per_char": 9.0}, model(1.0))
    selection.consider(2, {"valid.accuracy": 0.4, "valid.bits_per_char": 1.0}, model(2.0))
    selected = selection.find_selected()
    assert selected is not None
    assert selected.step == 1


# -- the last --------------------------------------------------------------------------------------


def evaluated_at(max_steps: int, eval_every: int) -> list[int]:
    return [step for step in range(1, max_steps + 1) if step % eval_every == 0 or step == max_steps]


def counted(max_steps: int, eval_every: int, rule: LastMean) -> list[int]:
    selection = LastModels(rule, spec(max_steps=max_steps, eval_every=eval_every))
    return [step for step in evaluated_at(max_steps, eval_every) if selection.tests_at(step)]


@pytest.mark.parametrize("max_steps", [1, 2, 17, 18, 19, 20])
@pytest.mark.parametrize("eval_every", [1, 3, 5, 40])
@pytest.mark.parametrize("evaluations", [1, 2, 5])
def test_exactly_the_last_evaluations_count(max_steps: int, eval_every: int, evaluations: int) -> None:
    last = evaluated_at(max_steps, eval_every)[-evaluations:]
    assert counted(max_steps, eval_every, LastMean(evaluations)) == last
    everything = evaluated_at(max_steps, eval_every)
    assert counted(max_steps, eval_every, LastMean(evaluations, all_tested=True)) == everything


def considered(steps: list[int], rule: LastMean, max_steps: int = 20) -> SelectedModel | None:
    selection = LastModels(rule, spec(max_steps=max_steps, eval_every=5))
    for step in steps:
        selection.consider(step, values(0.01 * step, 0.001 * step, "error_rate"), model(float(step)))
    return selection.find_selected()


def test_values_of_the_last_evaluations_are_averaged_with_the_last_model() -> None:
    selected = considered([5, 10, 15, 20], LastMean(3, all_tested=True))
    assert selected is not None
    assert selected.step == 20
    assert selected.valid == pytest.approx({"error_rate": 0.15, "loss": 0.85})
    assert selected.test == pytest.approx({"error_rate": 0.015})
    assert selected.weights is None


def test_interrupted_training_has_no_last_models() -> None:
    assert considered([5, 10, 15], LastMean(3)) is None
    assert considered([], LastMean(3)) is None


# -- memory ----------------------------------------------------------------------------------------


def stored(state: dict[str, Any]) -> dict[str, Any]:
    """Return the state after saving and loading it as in a checkpoint."""
    buffer = io.BytesIO()
    torch.save(state, buffer)
    loaded: dict[str, Any] = torch.load(io.BytesIO(buffer.getvalue()), weights_only=True)
    return loaded


def test_best_model_is_restored_from_a_checkpoint() -> None:
    before, after = best_of(0.5, 0.75), selection_of(spec("permuted_digits"))
    after.load_state_dict(stored(before.state_dict()))
    for selection in (before, after):
        selection.consider(30, values(0.75), model(3.0))
        selected = selection.find_selected()
        assert selected is not None
        assert selected.step == 20
    after.load_state_dict(stored(best_of().state_dict()))
    assert after.find_selected() is None


def test_last_models_are_restored_from_a_checkpoint() -> None:
    rule = LastMean(3)
    before, after = (LastModels(rule, spec(max_steps=20, eval_every=5)) for _ in range(2))
    for step in (5, 10, 15):
        before.consider(step, values(0.01 * step, 0.001 * step, "error_rate"), model(1.0))
    after.load_state_dict(stored(before.state_dict()))
    for selection in (before, after):
        selection.consider(20, values(0.2, 0.02, "error_rate"), model(1.0))
    assert after.find_selected() == before.find_selected()
    selected = after.find_selected()
    assert selected is not None
    assert selected.test == pytest.approx({"error_rate": 0.015})


def test_buffers_are_saved_with_the_weights() -> None:
    norm = nn.BatchNorm1d(2)
    assert weights_of(norm).keys() == norm.state_dict().keys()
