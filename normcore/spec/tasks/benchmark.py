"""Base class of benchmarks: the models to train, the metrics, and the rule that selects a trained model."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from normcore.spec.methods.method import Method
from normcore.spec.metric import LOSS, Metric
from normcore.spec.models.model import Cost, Model
from normcore.spec.models.recurrent import RecurrentModel
from normcore.spec.part import Misfit
from normcore.spec.task import Kind, Task


def count_taken(there_are: int, at_most: int | None) -> int:
    """Return how many of ``there_are`` examples a task takes: ``at_most`` or fewer. None takes all."""
    return min(there_are, at_most or there_are)


@dataclass(frozen=True, slots=True)
class Best:
    """Rule of selection: the first model with the best validation value of ``metric`` is tested."""

    metric: Metric


@dataclass(frozen=True, slots=True)
class LastMean:
    """Rule of selection: the models of the last evaluations are tested, and the mean of their test values counts.

    Attributes:
        evaluations: number of the last evaluations.
        all_tested: whether the models of all other evaluations are tested, too, only to draw a curve.
    """

    evaluations: int
    all_tested: bool = False


class Benchmark(Task):
    """A task that a model is trained on.

    Attributes:
        metrics: metrics on validation and test data; the first metric ranks.
        selection: rule that chooses the model whose test value counts.
        validates_with: the statistics that batch norms use on validation data: the minibatch's, or the population's.
        shown_only: options that change pictures, but no number.
    """

    kind: ClassVar[Kind] = "training"
    model: ClassVar[type[Model]] = RecurrentModel
    takes_norm: ClassVar[bool] = True
    metrics: ClassVar[tuple[Metric, ...]]
    selection: ClassVar[Best | LastMean]
    validates_with: ClassVar[Literal["batch", "population"]] = "batch"
    shown_only: ClassVar[frozenset[str]] = frozenset()

    def misfit(self, model: Model) -> Misfit | None:
        """Find an option of a model that does not fit this task, and what to write instead; None if all options fit."""
        return None

    def pointless(self, model: Model, norm: Method) -> Misfit | None:
        """Find an option of the task that is valid but pointless; None if there is no such option. See
        ``Method.pointless``."""
        return None

    def cost(self, model: Model) -> Cost | None:
        """Compute the cost of one example for a model without normalization; None if the cost is not known."""
        return None

    def least_cost(self, model: Model) -> Cost | None:
        """Compute the least cost of one example for a model without normalization; None if the cost is not known."""
        return self.cost(model)

    def least_examples(self) -> int | None:
        """Return the least number of training examples, which also limits the size of a batch; None if examples are
        made as needed."""
        return None

    def test_items(self, metric: str) -> int | None:
        """Return the number of test items that a metric counts. The metric cannot resolve less than one item.

        Returns:
            None for a metric that does not count items, and if the number is not known before the data are read.
        """
        return None

    @classmethod
    def metric(cls) -> Metric:
        """Return the metric that ranks."""
        return cls.metrics[0]

    @classmethod
    def measures(cls, name: str) -> Metric | None:
        """Return the metric of this name; None if the task does not measure it."""
        return next((metric for metric in (*cls.metrics, LOSS) if metric.name == name), None)
