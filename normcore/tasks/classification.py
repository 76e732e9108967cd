"""Common parts of all classification tasks: scores, and the confusion matrix.

Shapes: B examples, C classes.
"""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from normcore.figures import as_json
from normcore.figures.confusion import confusion_matrix


class Scores:
    """Loss and confusion matrix, summed up over examples; the sums stay on the device until a property is read."""

    def __init__(self, num_classes: int, device: torch.device) -> None:
        self._num_classes = num_classes
        self._loss = torch.zeros((), dtype=torch.float64, device=device)
        self._confusion = torch.zeros(num_classes**2, dtype=torch.int64, device=device)

    def add(self, logits: Tensor, labels: Tensor) -> None:
        """Add examples: their logits (B, C) and labels (B,)."""
        self._loss += F.cross_entropy(logits, labels, reduction="sum")
        pairs = labels * self._num_classes + logits.argmax(-1)
        self._confusion += (pairs.unsqueeze(1) == torch.arange(self._num_classes**2, device=pairs.device)).sum(0)

    @property
    def confusion(self) -> Tensor:
        """Confusion matrix (C, C): number of examples by true class (row) and predicted class (column)."""
        return self._confusion.view(self._num_classes, self._num_classes)

    @property
    def loss(self) -> float:
        """Mean cross-entropy in nats."""
        return (self._loss / self._confusion.sum()).item()

    @property
    def accuracy(self) -> float:
        """Share of examples whose class was predicted correctly."""
        return self.confusion.trace().item() / self.confusion.sum().item()


def confusion_figure(score: Callable[[], Scores], title: str) -> Mapping[str, Callable[[], bytes]]:
    """Artifact of a run: the figure of the confusion matrix on the test data. ``score`` computes the scores."""

    @torch.no_grad()
    def draw() -> bytes:
        counts = score().confusion.tolist()
        return as_json(confusion_matrix(counts, [str(label) for label in range(len(counts))], f"{title}: test data"))

    return {"figures/confusion_matrix.json": draw}
