"""Base class of benchmarks: the models that it trains, its metrics, and the rule that selects a trained model."""

from dataclasses import dataclass
from typing import ClassVar, Literal

from normcore.spec.methods.method import Method
from normcore.spec.metric import LOSS, Metric
from normcore.spec.models.model import Cost, Model
from normcore.spec.models.recurrent import RecurrentModel
from normcore.spec.part import Misfit
from normcore.spec.task import Kind, Task


@dataclass(frozen=True, slots=True)
class Best:
    """The first model with the best validation value of this metric is tested."""

    metric: Metric


@dataclass(frozen=True, slots=True)
class LastMean:
    """The models of the last evaluations are tested, and the mean of their values counts.

    Attributes:
        evaluations: how many.
        all_tested: whether the models of all other evaluations are tested too, for their curve alone.
    """

    evaluations: int
    all_tested: bool = False


class Benchmark(Task):
    """A task that a model is trained on.

    Attributes:
        metrics: of the validation and test data; the first one ranks.
        selection: whose test value counts.
        validates_with: the statistics that batch norms use on validation data: the minibatch's, or the population's.
        shown_only: options that decide what pictures show, and no number.
    """

    kind: ClassVar[Kind] = "training"
    model: ClassVar[type[Model]] = RecurrentModel
    takes_norm: ClassVar[bool] = True
    metrics: ClassVar[tuple[Metric, ...]]
    selection: ClassVar[Best | LastMean]
    validates_with: ClassVar[Literal["batch", "population"]] = "batch"
    shown_only: ClassVar[frozenset[str]] = frozenset()

    def misfit(self, model: Model) -> Misfit | None:
        """The option of a model that does not go with this task, and what to do; None if all do."""
        return None

    def pointless(self, model: Model, norm: Method) -> Misfit | None:
        """An option of the task that could be trained with but to no purpose; see ``Method.pointless``."""
        return None

    def cost(self, model: Model) -> Cost | None:
        """Cost of one example for a model without normalization; None if it is unknown."""
        return None

    def least_cost(self, model: Model) -> Cost | None:
        """Least cost of one example for a model without normalization; None if it is unknown."""
        return self.cost(model)

    def least_examples(self) -> int | None:
        """Least number of training examples; no batch is larger. None if examples are made as needed."""
        return None

    def test_items(self, metric: str) -> int | None:
        """Number of test items that the metric counts. The metric has no finer resolution than one item.

        Returns:
            None of a metric that counts nothing, and where the number is not known before the data are read.
        """
        return None

    @classmethod
    def metric(cls) -> Metric:
        """The one that ranks."""
        return cls.metrics[0]

    @classmethod
    def measures(cls, name: str) -> Metric | None:
        """The metric of this name."""
        return next((metric for metric in (*cls.metrics, LOSS) if metric.name == name), None)
