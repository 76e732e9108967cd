"""Selection of the model whose test value counts, by the task's rule."""

from dataclasses import dataclass, field
from typing import Any, Protocol

from torch import Tensor, nn

from normcore.spec import TrainingSpec
from normcore.spec.tasks.benchmark import Best, LastMean


@dataclass(frozen=True, slots=True)
class SelectedModel:
    """Selected model.

    Attributes:
        step: step of the selected model; if several models count, the step of the last.
        valid: validation values by metric.
        weights: weights of the model to test; None keeps the weights that the model has.
        test: test values by metric, if the model was tested already; else None.
    """

    step: int
    valid: dict[str, float]
    weights: dict[str, Tensor] | None = None
    test: dict[str, float] | None = None


class Selection(Protocol):
    """Rule that selects a model; it is called at every evaluation."""

    def tests_at(self, step: int) -> bool:
        """Tell if the model has to be tested at the evaluation after ``step`` updates."""
        ...

    def consider(self, step: int, values: dict[str, float], model: nn.Module) -> None:
        """Consider the model at an evaluation; ``values`` has the evaluation's values by series."""
        ...

    def find_selected(self) -> SelectedModel | None:
        """Selected model; None if the rule has not selected a model."""
        ...

    def state_dict(self) -> dict[str, Any]: ...

    def load_state_dict(self, state: dict[str, Any]) -> None: ...


def selection_of(spec: TrainingSpec) -> Selection:
    """Make a new selection by the rule of the spec's task."""
    rule = spec.task.selection
    return BestModel(rule) if isinstance(rule, Best) else LastModels(rule, spec)


class BestModel:
    """Selection of the model with the best validation value; in a tie the earlier model."""

    def __init__(self, rule: Best) -> None:
        self._metric = rule.metric
        self._best: SelectedModel | None = None

    def tests_at(self, step: int) -> bool:
        return False

    def consider(self, step: int, values: dict[str, float], model: nn.Module) -> None:
        valid, name = _of_split("valid", values), self._metric.name
        if self._best is None or self._metric.is_better(valid[name], than=self._best.valid[name]):
            self._best = SelectedModel(step, valid, weights_of(model))

    def find_selected(self) -> SelectedModel | None:
        return self._best

    def state_dict(self) -> dict[str, Any]:
        best = self._best
        return {} if best is None else {"step": best.step, "valid": best.valid, "weights": best.weights}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._best = SelectedModel(**state) if state else None


@dataclass
class LastModels:
    """Selection of the models of the last evaluations; the values of these models are averaged."""

    rule: LastMean
    spec: TrainingSpec
    _seen: list[tuple[int, dict[str, float]]] = field(default_factory=list)

    def tests_at(self, step: int) -> bool:
        return self.rule.all_tested or self._counts(step)

    def consider(self, step: int, values: dict[str, float], model: nn.Module) -> None:
        if self._counts(step):
            self._seen.append((step, values))

    def find_selected(self) -> SelectedModel | None:
        if not self._seen or self._seen[-1][0] < self.spec.training.max_steps:
            return None
        values = [values for _, values in self._seen]
        mean = {name: sum(v[name] for v in values) / len(values) for name in values[0]}
        return SelectedModel(self._seen[-1][0], _of_split("valid", mean), test=_of_split("test", mean))

    def state_dict(self) -> dict[str, Any]:
        return {"seen": self._seen}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self._seen = [(step, values) for step, values in state["seen"]]

    def _counts(self, step: int) -> bool:
        training = self.spec.training
        after = -(-(training.max_steps - step) // training.eval_every)  # evaluations after this evaluation
        return after < self.rule.evaluations


def weights_of(model: nn.Module) -> dict[str, Tensor]:
    """Copy of the model's state: all parameters and buffers."""
    return {name: value.detach().clone() for name, value in model.state_dict().items()}


def _of_split(split: str, values: dict[str, float]) -> dict[str, float]:
    return {name.removeprefix(f"{split}."): value for name, value in values.items() if name.startswith(f"{split}.")}
