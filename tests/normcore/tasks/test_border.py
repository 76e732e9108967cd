"""Variances by distance to the border equal those that numpy computes from the summed inputs of the convolution."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from normcore.models.build import Build
from normcore.models.conv_net import ConvNet
from normcore.spec.methods.batch_norm import BatchNorm
from normcore.spec.methods.none import NoNorm
from normcore.spec.models import conv_net as spec
from normcore.tasks.border import BorderVariance

CPU = torch.device("cpu")
OPTIONS = spec.ConvNet(stage_channels=(3, 2), stage_depth=2, head_channels=2, dropout=0.0, input_noise=0.0)


def network(height: int = 12, width: int = 14, norm: BatchNorm | NoNorm | None = None) -> ConvNet:
    torch.manual_seed(0)
    build = Build(OPTIONS, norm or NoNorm(), "auto", CPU, torch.float64)
    return ConvNet(build, OPTIONS, (1, height, width), 10).double()


def batches(height: int = 12, width: int = 14) -> list[Tensor]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(n, 1, height, width, dtype=torch.float64, generator=generator) + 100 for n in (5, 3)]


def by_hand(model: ConvNet, images: list[Tensor]) -> list[float]:
    """Compute the variances from the second convolution of the first stage, over all images together."""
    summed = []
    stage: Any = model.stages[0]
    first, second = stage
    for x in images:
        with torch.no_grad():
            summed.append(second.conv(nn.functional.leaky_relu(first(x), 0.1)).numpy())
    variance = np.concatenate(summed).var(0)  # (C, H, W)
    _, height, width = variance.shape
    rings: dict[int, list[float]] = {}
    for i in range(height):
        for j in range(width):
            distance = min(i, j, height - 1 - i, width - 1 - j)
            rings.setdefault(distance, []).extend(variance[:, i, j])
    return [float(np.mean(rings[distance])) for distance in sorted(rings)]


def test_every_ring_has_the_mean_variance_of_its_units() -> None:
    model, images = network(), batches()
    with torch.no_grad(), BorderVariance(model) as border:
        for x in images:
            model(x)
    expected = by_hand(model, images)
    assert len(expected) == 6
    np.testing.assert_allclose(border.by_distance(), expected, rtol=1e-6)


def test_values_compare_the_outermost_ring_with_all_inner_places() -> None:
    model, images = network(), batches()
    with torch.no_grad(), BorderVariance(model) as border:
        for x in images:
            model(x)
    rings = by_hand(model, images)
    sizes = [12 * 14 - 10 * 12, 10 * 12 - 8 * 10, 8 * 10 - 6 * 8, 6 * 8 - 4 * 6, 4 * 6 - 2 * 4, 2 * 4]
    inside = sum(v * n for v, n in zip(rings[1:], sizes[1:], strict=True)) / sum(sizes[1:])
    assert border.values() == pytest.approx({"border_variance": rings[0], "interior_variance": inside}, rel=1e-6)


def test_variances_are_of_summed_inputs_before_the_norm() -> None:
    """All variances would be equal after batch norm."""
    plain, normalized, images = network(), network(norm=BatchNorm()), batches()
    variances = []
    for model in (plain, normalized):
        with torch.no_grad(), BorderVariance(model.train()) as border:
            model(images[0])
        variances.append(border.by_distance())
    assert max(variances[1]) > 2 * min(variances[1])


def test_nothing_is_recorded_outside_the_context() -> None:
    model, images = network(), batches()
    with torch.no_grad():
        with BorderVariance(model) as border:
            model(images[0])
        before = border.by_distance()
        model(images[1])
    assert border.by_distance() == before
    assert not model.stages[0][1].conv._forward_hooks  # type: ignore[index]


def test_other_models_and_models_without_images_have_no_values() -> None:
    with BorderVariance(nn.Linear(2, 2)) as border:
        pass
    assert (border.by_distance(), border.values()) == ([], {})
    with BorderVariance(network()) as border:
        pass
    assert (border.by_distance(), border.values()) == ([], {})
