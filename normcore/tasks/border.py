"""Variance of a convolutional layer's units at the border of the image and inside.

LN section 6.7 gives the difference between the two as the reason why batch norm is better there.

Shapes: B images, C channels of H x W places.
"""

from types import TracebackType
from typing import Any, Self

import torch
from torch import Tensor, nn

from normcore.models.conv_net import ConvNet


class BorderVariance:
    """Context manager that records forward passes of a ``ConvNet``; other models are not recorded.

    It computes, for each unit of the last convolution of the first stage, the variance over the images of the unit's
    summed input, before the norm. Units are grouped by their distance to the border, 0 for the outermost ring.
    """

    def __init__(self, model: nn.Module) -> None:
        self._layer = model.stages[0][-1].conv if isinstance(model, ConvNet) else None  # type: ignore[index]
        self._images = 0
        self._sum: Tensor | None = None
        self._squares: Tensor | None = None

    def __enter__(self) -> Self:
        if self._layer is not None:
            self._hook = self._layer.register_forward_hook(self._see)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._layer is not None:
            self._hook.remove()

    def by_distance(self) -> list[float]:
        """Mean variance of the units at each distance from the border; an empty list if nothing was recorded."""
        if self._sum is None or self._squares is None:
            return []
        variance = self._squares / self._images - (self._sum / self._images).square()  # (C, H, W)
        distances = _distances(*variance.shape[1:]).to(variance.device)
        return [variance[:, distances == d].mean().item() for d in range(int(distances.max()) + 1)]

    def values(self) -> dict[str, float]:
        """Mean variance of the outermost ring, and of all places inside it; empty if there are fewer than two rings."""
        by_distance = self.by_distance()
        if len(by_distance) < 2:
            return {}
        assert self._sum is not None
        counts = torch.bincount(_distances(*self._sum.shape[1:]).flatten()).tolist()
        inside = sum(v * n for v, n in zip(by_distance[1:], counts[1:], strict=True)) / sum(counts[1:])
        return {"border_variance": by_distance[0], "interior_variance": inside}

    def _see(self, layer: nn.Module, inputs: Any, a: Tensor) -> None:
        wide = a.detach().double()
        total, squares = wide.sum(0), wide.square().sum(0)
        self._sum = total if self._sum is None else self._sum + total
        self._squares = squares if self._squares is None else self._squares + squares
        self._images += len(a)


def _distances(height: int, width: int) -> Tensor:
    """Distance of each place from the border: (H, W)."""
    rows, columns = torch.arange(height), torch.arange(width)
    down = torch.minimum(rows, height - 1 - rows)
    across = torch.minimum(columns, width - 1 - columns)
    return torch.minimum(down.unsqueeze(1), across)
