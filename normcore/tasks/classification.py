"""Common parts of all classification tasks: scores, and the confusion matrix.

B examples, C classes.
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from normcore.figures import as_json
from normcore.figures.confusion import confusion_matrix


class Scores:
    """Sums over examples, kept on the device until somebody asks."""

    def __init__(self, num_classes: int, device: torch.device) -> None:
        self._num_classes = num_classes
        self._loss = torch.zeros((), dtype=torch.float64, device=device)
        self._confusion = torch.zeros(num_classes**2, dtype=torch.int64, device=device)

    def add(self, logits: Tensor, labels: Tensor) -> None:
        """Take in the logits (B, C) of examples with these labels (B)."""
        self._loss += F.cross_entropy(logits, labels, reduction="sum")
        pairs = labels * self._num_classes + logits.argmax(-1)
        self._confusion += (pairs.unsqueeze(1) == torch.arange(self._num_classes**2, device=pairs.device)).sum(0)

    @property
    def confusion(self) -> Tensor:
        """(C, C): how many examples of each class (rows) were taken for each class (columns)."""
        return self._confusion.view(self._num_classes, self._num_classes)

    @property
    def loss(self) -> float:
        """Mean cross-entropy in nats."""
        return (self._loss / self._confusion.sum()).item()

    @property
    def accuracy(self) -> float:
        """Share of examples whose class was chosen."""
        return self.confusion.trace().item() / self.confusion.sum().item()


def confusion_figure(score: Callable[[], Scores], title: str) -> Mapping[str, Callable[[], bytes]]:
    """The confusion matrix on the test data, as a run's artifact; ``score`` goes through them."""

    @torch.no_grad()
    def draw() -> bytes:
        counts = score().confusion.tolist()
        return as_json(confusion_matrix(counts, [str(label) for label in range(len(counts))], f"{title}: test data"))

    return {"figures/confusion_matrix.json": draw}
