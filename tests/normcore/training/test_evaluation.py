"""Statistics that batch norms use in an evaluation, and the names of the results."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from normcore.norms.batch_norm import BatchNormLayer
from normcore.spec import TrainingSpec
from normcore.training.evaluation import evaluate, mixed_precision, take_population_statistics
from normcore.training.evaluation import test as final_test
from tests.normcore.evaluations import evaluated
from tests.normcore.training_specs import training_spec

CPU = torch.device("cpu")
TRAIN, VALID, TEST = (torch.tensor(x).unsqueeze(1) for x in ([0.0, 2.0, 10.0, 14.0], [1.0, 3.0], [5.0, 105.0]))


def spec(task: str = "permuted_digits", precision: str = "float32") -> TrainingSpec:
    training = {"precision": precision}
    return training_spec({"task": {"name": task, "profile": "smoke"}, "training": training})


@dataclass
class OneNumber:
    """Task with one number per example; its results are the outputs of the model."""

    passes: list[str] = field(default_factory=list)
    checksums: Any = None
    no_skill = 0.0

    def population(self) -> Iterator[Tensor]:
        self.passes.append("population")
        return iter(torch.split(TRAIN, 2))

    def observe(self, model: nn.Module, batch: Tensor) -> None:
        model(batch)

    def validate(self, model: nn.Module) -> dict[str, float]:
        return {"loss": model(VALID)[1].item(), "grad": float(torch.is_grad_enabled())}

    def test(self, model: nn.Module) -> dict[str, float]:
        return {"accuracy": model(TEST)[1].item()}


def population(x: float) -> float:
    """Normalize ``x`` by population statistics: two batches with the means 1 and 12 and the variances 1 and 4."""
    return float((x - 6.5) / (2.5 + 1e-5) ** 0.5)


def made() -> tuple[Any, nn.Module]:
    return OneNumber(), BatchNormLayer((1,), 1.0, 1e-5)


@pytest.mark.parametrize("tested", [False, True])
def test_sequences_are_validated_with_batch_and_tested_with_population_statistics(tested: bool) -> None:
    task, model = made()
    phases, values = evaluated(evaluate(task, model, spec(), CPU, tested=tested))
    assert values["valid.loss"] == pytest.approx(1.0, rel=1e-4), "3 of a batch of 1 and 3"
    assert task.passes == (["population"] if tested else [])
    assert values.get("test.accuracy") == (pytest.approx(population(105.0), rel=1e-5) if tested else None)
    assert values["valid.grad"] == 0
    assert phases == (["population statistics", "validation", "test"] if tested else ["validation"])


@pytest.mark.parametrize("tested", [False, True])
def test_images_are_validated_with_population_statistics(tested: bool) -> None:
    task, model = made()
    phases, values = evaluated(evaluate(task, model, spec("feedforward"), CPU, tested=tested))
    assert values["valid.loss"] == pytest.approx(population(3.0), rel=1e-5)
    assert task.passes == ["population"], "one pass serves both"
    assert phases == ["population statistics", "validation", *(["test"] if tested else [])]
    assert values.keys() == {"valid.loss", "valid.grad", *(["test.accuracy"] if tested else [])}


def test_final_test_uses_population_statistics_in_every_task() -> None:
    for name in ("permuted_digits", "feedforward"):
        task, model = made()
        phases, values = evaluated(final_test(task, model.train(), spec(name), CPU))
        assert values["accuracy"] == pytest.approx(population(105.0))
        assert phases == ["population statistics", "test"]
        assert not model.training


def test_each_evaluation_collects_population_statistics_anew() -> None:
    task, model = made()
    evaluated(evaluate(task, model, spec("feedforward"), CPU, tested=False))
    model.running_mean = torch.full((1, 1), 99.0)
    _, values = evaluated(evaluate(task, model, spec("feedforward"), CPU, tested=False))
    assert values["valid.loss"] == pytest.approx(population(3.0), rel=1e-5)


def test_model_without_batch_norms_needs_no_population_pass() -> None:
    task = OneNumber()
    assert list(take_population_statistics(task, nn.Identity(), spec(), CPU)) == []  # type: ignore[arg-type]
    assert task.passes == []


def test_torch_and_the_model_are_unchanged_between_phases() -> None:
    task, model = made()
    for _ in evaluate(task, model, spec("feedforward", precision="bfloat16"), CPU, tested=True):
        assert torch.is_grad_enabled()
        assert not torch.is_autocast_enabled("cpu")


def test_autocast_is_on_for_bfloat16_only() -> None:
    a, b = torch.ones(2, 2), torch.ones(2, 2)
    with mixed_precision(spec(precision="bfloat16"), CPU):
        assert (a @ b).dtype == torch.bfloat16
    for precision in ("float32", "float64"):
        with mixed_precision(spec(precision=precision), CPU):
            assert (a @ b).dtype == torch.float32


def test_device_without_autocast_is_accepted_when_autocast_is_off() -> None:
    with mixed_precision(spec(), torch.device("meta")):
        pass
