"""Profiles of every task are complete, and those called ``paper`` agree with the papers."""

import pytest

from normcore.spec import TASKS, resolve
from normcore.spec.analyses import ANALYSES
from normcore.spec.analyses.analysis import TrainedAnalysis
from normcore.spec.methods import METHODS
from normcore.spec.models.model import Model
from normcore.spec.task import Task
from tests.normcore.training_specs import recurrent_model, training_spec

PROFILES = ("paper", "small", "smoke")
IMAGES_ALONE = {("feedforward", "instance_norm"), ("invariances", "instance_norm")}


def subjects(task: type[Task]) -> list[type[Model]]:
    """Classes of models that the norm of a task may have to fit."""
    return [type(task.subject)] if task.subject else list(task.model.kinds().values()) if task.model else []


FITTING = [
    (name, method)
    for name, task in TASKS.items()
    if task.takes_norm
    for method in METHODS
    if all(METHODS[method].fits(model) for model in subjects(task)) and (name, method) not in IMAGES_ALONE
]
"""Every task with the methods that all of its models take; layers of units have no places for instance norm."""


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("task", dict(FITTING))
def test_every_profile_resolves_with_every_fitting_method(task: str, profile: str) -> None:
    for method in (method for name, method in FITTING if name == task):
        spec = resolve({"task": {"name": task, "profile": profile}, "norm": {"method": method}})
        assert spec.norm is not None, method
        assert (spec.task.name, spec.task.profile, spec.norm.method) == (task, profile, method)
        assert spec.kind == TASKS[task].kind


def test_every_task_has_a_fitting_method() -> None:
    assert {task for task, _ in FITTING} == {name for name, task in TASKS.items() if task.takes_norm}


@pytest.mark.parametrize("task", [name for name, task in ANALYSES.items() if issubclass(task, TrainedAnalysis)])
@pytest.mark.parametrize("profile", PROFILES)
def test_analysis_of_a_trained_model_needs_only_its_run(task: str, profile: str) -> None:
    spec = resolve({"task": {"name": task, "profile": profile, "run": "run_01KAJ3V6BCDEFGHJKMNPQRSTVW"}})
    assert (spec.kind, spec.model, spec.norm) == ("analysis", None, None)


def test_paper_profile_of_permuted_mnist_equals_the_paper() -> None:
    spec = training_spec(
        {"task": {"name": "permuted_mnist", "profile": "paper"}, "norm": {"method": "recurrent_batch_norm"}}
    )
    assert recurrent_model(spec.model).hidden_size == 100
    assert (spec.training.batch_size, spec.training.max_steps, spec.training.clip_norm) == (100, 100_000, 1.0)
    assert spec.training.optimizer.model_dump() == {"name": "rmsprop", "lr": 1e-3, "decay": 0.9, "momentum": 0.0}
    assert spec.norm.model_dump()["gain_init"] == 0.1
    assert spec.norm.model_dump()["initial_state_noise"] == 0.0


def test_only_sequential_pixels_have_noise_on_the_first_state() -> None:
    spec = training_spec({"task": {"name": "sequential_mnist"}, "norm": {"method": "recurrent_batch_norm"}})
    assert spec.norm.model_dump()["initial_state_noise"] == 0.1


def test_paper_profile_of_char_lm_equals_the_paper() -> None:
    spec = training_spec({"task": {"name": "char_lm", "profile": "paper"}})
    assert (spec.task.model_dump()["corpus"], spec.task.model_dump()["sequence_length"]) == ("ptb", 100)
    assert (recurrent_model(spec.model).hidden_size, spec.training.batch_size, spec.training.eval_every) == (
        1000,
        64,
        791,
    )
    assert (spec.training.optimizer.name, spec.training.optimizer.lr) == ("adam", 2e-3)
