"""Whitening makes pixels uncorrelated by the formula, without a rotation."""

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from normcore.data import digits, whitening
from normcore.data.images import LabelledImages
from normcore.data.whitening import REGULARIZATION, Whitening

Numbers = NDArray[np.float64]
SHAPE = (2, 3, 4)
PIXELS = 24


def made(count: int = 300) -> LabelledImages:
    """Make images with correlated pixels: each pixel is a mixture of random numbers."""
    random = np.random.default_rng(0)
    mixed = random.normal(size=(count, PIXELS)) @ random.normal(size=(PIXELS, PIXELS))
    bytes_ = np.clip(128 + 20 * mixed, 0, 255).astype(np.uint8)
    return LabelledImages(torch.from_numpy(bytes_), torch.zeros(count, dtype=torch.int64), 255, SHAPE)


def centred(images: LabelledImages) -> Numbers:
    """Pixels (N, D) in [-1, 1], the x of the formula."""
    x: Numbers = 2 * images.pixels.numpy().astype(np.float64) / images.white - 1
    return x


def by_numpy(x: Numbers) -> tuple[Numbers, Numbers]:
    """Compute mean and W by numpy's singular value decomposition."""
    mean = x.mean(0)
    u, s, _ = np.linalg.svd((x - mean).T @ (x - mean) / len(x))
    return mean, u @ np.diag(1 / np.sqrt(s + REGULARIZATION)) @ u.T


def test_whitening_equals_the_formula() -> None:
    images = made()
    mean, matrix = by_numpy(centred(images))
    fitted = Whitening.fit_to_images(images)
    np.testing.assert_allclose(fitted.mean.numpy(), mean, atol=1e-12)
    np.testing.assert_allclose(fitted.matrix.numpy(), matrix, rtol=1e-8, atol=1e-8 * np.abs(matrix).max())
    whitened = fitted(images.images(torch.float64))
    assert whitened.shape == (300, *SHAPE)
    np.testing.assert_allclose(whitened.flatten(1).numpy(), (centred(images) - mean) @ matrix, rtol=1e-7, atol=1e-8)


def test_constant_pixels_stay_finite() -> None:
    """The corners of the digits are always 0. Their variance is 0, and their whitened values are finite."""
    images = digits.load().train
    assert (images.pixels == images.pixels[0]).all(0).any(), "some pixels never change"
    whitened = Whitening.fit_to_images(images)(images.images(torch.float64)).flatten(1).numpy()
    assert np.isfinite(whitened).all()
    constant = (images.pixels == images.pixels[0]).all(0).numpy()
    assert np.abs(whitened[:, constant]).max() < 1e-6
    variances = np.linalg.eigvalsh(np.cov(whitened.T, bias=True))
    assert variances.max() == pytest.approx(1, abs=0.01)


def test_other_images_are_whitened_with_the_training_images_statistics() -> None:
    train, others = made()[:200], made()[200:]
    mean, matrix = by_numpy(centred(train))
    whitened = Whitening.fit_to_images(train)(others.images(torch.float64)).flatten(1).numpy()
    np.testing.assert_allclose(whitened, (centred(others) - mean) @ matrix, rtol=1e-7, atol=1e-7)


def test_statistics_of_pieces_equal_those_of_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    images = made()
    whole = Whitening.fit_to_images(images)
    monkeypatch.setattr(whitening, "PIECE", 70)  # four pieces and a remainder
    pieces = Whitening.fit_to_images(images)
    torch.testing.assert_close(pieces.mean, whole.mean, rtol=1e-12, atol=1e-12)
    torch.testing.assert_close(pieces.matrix, whole.matrix, rtol=1e-7, atol=1e-7)


def test_whitening_moves_to_the_dtype_of_the_images() -> None:
    images = made()
    fitted = Whitening.fit_to_images(images)
    narrow = fitted.to(torch.device("cpu"), torch.float32)
    assert narrow.matrix.dtype == torch.float32
    exact = fitted(images.images(torch.float64)).float()
    torch.testing.assert_close(narrow(images.images(torch.float32)), exact, rtol=1e-3, atol=1e-3)
