"""Five numbers place a grid of filters, as in Gregor et al. 2015, section 3.2."""

import math

import numpy as np
import pytest
import torch

from normcore.models.gaussian_filters import Attention, filters, read, write

SIDE, SIZE = 6, 3
RANDOM = np.random.RandomState(0)
NUMBERS = RANDOM.uniform(-0.7, 0.7, (2, 5))


def written_out(numbers: np.ndarray, side: int, size: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Compute F_X and F_Y (N, S) and gamma of one image, one element at a time."""
    x, y, log_variance, log_stride, log_intensity = numbers
    stride = (side - 1) / (size - 1) * math.exp(log_stride)
    banks = []
    for place in (x, y):
        bank = np.zeros((size, side))
        for i in range(1, size + 1):
            mean = (side + 1) / 2 * (place + 1) + (i - size / 2 - 0.5) * stride
            for a in range(1, side + 1):
                bank[i - 1, a - 1] = math.exp(-((a - mean) ** 2) / (2 * math.exp(log_variance)))
            bank[i - 1] /= bank[i - 1].sum()
        banks.append(bank)
    return banks[0], banks[1], math.exp(log_intensity)


def test_reading_multiplies_by_both_banks() -> None:
    images = RANDOM.uniform(size=(2, 2, SIDE, SIDE))
    patches = read(torch.from_numpy(images), Attention.of(torch.from_numpy(NUMBERS), SIDE, SIZE), SIZE).numpy()
    assert patches.shape == (2, 2, SIZE, SIZE)
    for b in range(2):
        f_x, f_y, intensity = written_out(NUMBERS[b], SIDE, SIZE)
        for channel in range(2):
            expected = intensity * f_y @ images[b, channel] @ f_x.T
            np.testing.assert_allclose(patches[b, channel], expected, rtol=1e-12)


def test_writing_multiplies_by_both_transposed_banks() -> None:
    patch = RANDOM.uniform(size=(2, SIZE, SIZE))
    painted = write(torch.from_numpy(patch), Attention.of(torch.from_numpy(NUMBERS), SIDE, SIZE), SIDE).numpy()
    for b in range(2):
        f_x, f_y, intensity = written_out(NUMBERS[b], SIDE, SIZE)
        np.testing.assert_allclose(painted[b], f_y.T @ patch[b] @ f_x / intensity, rtol=1e-12)


@pytest.mark.parametrize("size", [2, 3, 5])
def test_parameters_of_zero_put_the_grid_over_the_whole_image(size: int) -> None:
    at = Attention.of(torch.zeros(1, 5, dtype=torch.float64), 28, size)
    assert at.x.item() == at.y.item() == 14.5
    assert at.stride.item() == pytest.approx(27 / (size - 1))
    narrow = filters(at.x, at.stride, torch.full((1,), 1e-3, dtype=torch.float64), size, 28)[0]
    peaks = (narrow * torch.arange(1, 29)).sum(1)
    np.testing.assert_allclose(peaks.numpy(), np.linspace(1, 28, size), atol=0.5)


def test_single_filter_works_without_a_stride() -> None:
    at = Attention.of(torch.zeros(1, 5, dtype=torch.float64), 28, 1)
    assert filters(at.x, at.stride, at.variance, 1, 28)[0, 0].argmax() in (13, 14)


@pytest.mark.parametrize("far", [-50.0, 50.0])
def test_grid_far_outside_the_image_gives_no_nan(far: float) -> None:
    numbers = torch.tensor([[far, far, -5.0, 0.0, 0.0]], requires_grad=True)
    at = Attention.of(numbers, SIDE, SIZE)
    patch = read(torch.ones(1, 1, SIDE, SIDE), at, SIZE)
    torch.autograd.backward(patch.sum())
    assert patch.isfinite().all()
    assert numbers.grad is not None
    assert numbers.grad.isfinite().all()


@pytest.mark.parametrize(
    ("log_variance", "log_stride"), [(-200.0, 0.0), (0.0, 100.0), (-200.0, 100.0), (200.0, -200.0)]
)
def test_filters_of_any_width_and_stride_and_their_gradients_are_finite(log_variance: float, log_stride: float) -> None:
    numbers = torch.tensor([[0.3, -2.0, log_variance, log_stride, 0.0]], requires_grad=True)
    images = torch.rand(1, 1, 28, 28, generator=torch.Generator().manual_seed(0))
    patch = read(images, Attention.of(numbers, 28, 5), 5)
    (gradient,) = torch.autograd.grad(patch.square().sum(), numbers)
    assert patch.isfinite().all()
    assert gradient.isfinite().all()


def test_a_filter_that_is_too_narrow_sees_one_pixel() -> None:
    at = Attention.of(torch.tensor([[0.1, 0.1, -200.0, 0.0, 0.0]]), 28, 1)
    assert filters(at.x, at.stride, at.variance, 1, 28)[0, 0].tolist() == [float(a == 16) for a in range(1, 29)]


@pytest.mark.parametrize("log_intensity", [-110.0, 100.0])
def test_extreme_intensity_of_black_gives_no_nan(log_intensity: float) -> None:
    numbers = torch.tensor([[0.3, -2.0, 0.0, 0.0, log_intensity]], requires_grad=True)
    at = Attention.of(numbers, 28, 5)
    for seen in (read(torch.zeros(1, 1, 28, 28), at, 5), write(torch.zeros(1, 5, 5), at, 28)):
        (gradient,) = torch.autograd.grad(seen.sum(), numbers, retain_graph=True)
        assert not seen.any()
        assert gradient.isfinite().all()


@pytest.mark.parametrize("variance", [2e-9, 1.0, 4.8e8])
@pytest.mark.parametrize("centre", [-1e38, -1e20, -1e6, -2000.0, 3.0, 1e4, 1e10, 1e30])
def test_filters_far_outside_the_image_in_float32_equal_float64(centre: float, variance: float) -> None:
    found = []
    for dtype in (torch.float32, torch.float64):
        numbers = [torch.tensor([n], dtype=torch.float32).to(dtype).requires_grad_() for n in (centre, 1.0, variance)]
        f = filters(numbers[0], numbers[1], numbers[2], 2, 4)
        (f * torch.arange(8, dtype=dtype).view(1, 2, 4)).sum().backward()  # type: ignore[no-untyped-call]
        found.append([f.detach().double(), *(n.grad.double() for n in numbers if n.grad is not None)])
    for ours, exact in zip(*found, strict=True):
        torch.testing.assert_close(ours, exact, rtol=1e-4, atol=1e-7)
        assert exact.isfinite().all()
