"""Order-embeddings compute the equations of Vendrov et al. 2016 and LN section 6.1."""

import copy

import numpy as np
import pytest
import torch
from torch import Tensor

from normcore.models.build import Build
from normcore.models.order_embedding import OrderEmbedding, contrastive_loss, energy
from normcore.models.words import Words
from normcore.spec.methods import METHODS
from normcore.spec.models.order_embedding import OrderEmbeddingModel
from tests.normcore.models.slopes import check_gradients

SMALL = OrderEmbeddingModel(hidden_size=5, embedding_size=4)
WORDS, FEATURES = 7, 6


def order_embedding(
    method: str = "none", options: OrderEmbeddingModel = SMALL, words: int = WORDS, features: int = FEATURES
) -> OrderEmbedding:
    kind = METHODS[method]
    norm = kind.model_validate({**kind.defaults(OrderEmbeddingModel), "method": method})
    torch.manual_seed(0)
    return OrderEmbedding(Build(options, norm, "auto", torch.device("cpu"), torch.float32), options, words, features)


def positive(rows: int, seed: int) -> Tensor:
    random = torch.Generator().manual_seed(seed)
    return torch.nn.functional.normalize(torch.rand(rows, 5, generator=random, dtype=torch.float64), dim=1)


def violation(s: np.ndarray, i: np.ndarray) -> float:
    return float(sum(max(0.0, a - b) ** 2 for a, b in zip(s, i, strict=True)))


def test_energy_measures_how_far_a_caption_is_above_its_image() -> None:
    s, i = positive(3, 0), positive(2, 1)
    found = energy(s, i)
    expected = [[violation(a, b) for b in i.numpy()] for a in s.numpy()]
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-12)
    assert energy(s * 0.01, torch.ones_like(s)).eq(0).all()


def test_loss_is_the_sum_of_both_hinges() -> None:
    s, i = positive(4, 2), positive(4, 3)
    e = np.array([[violation(a, b) for b in i.numpy()] for a in s.numpy()])
    expected = sum(
        max(0, 0.05 + e[k, k] - e[j, k]) + max(0, 0.05 + e[k, k] - e[k, j])
        for k in range(4)
        for j in range(4)
        if j != k
    )
    assert contrastive_loss(s, i).item() == pytest.approx(expected, rel=1e-12)


def test_embeddings_have_length_1_and_no_negative_entry() -> None:
    model = order_embedding("layer_norm").double()
    words = Words.of([torch.tensor([2, 3, 0]), torch.tensor([4, 0])], torch.device("cpu"))
    for placed in (model.embed_captions(words), model.embed_images(torch.randn(2, FEATURES).double())):
        assert (placed >= 0).all()
        torch.testing.assert_close(placed.norm(dim=1), torch.ones(2).double())


@pytest.mark.parametrize("size", [1e-20, 1.0, 3e19, 1e30])
def test_images_with_large_or_small_features_are_placed_in_float32_as_in_float64(size: float) -> None:
    model, features = order_embedding(), size * torch.randn(3, FEATURES, generator=torch.Generator().manual_seed(6))
    hold_placed_against_float64(model, features)


@pytest.mark.parametrize("scale", [1e-20, 1e20])
def test_images_are_placed_by_large_or_small_weights_as_in_float64(scale: float) -> None:
    model, features = order_embedding(), torch.randn(3, FEATURES, generator=torch.Generator().manual_seed(6))
    with torch.no_grad():
        model.image.weight *= scale
    hold_placed_against_float64(model, features)


def hold_placed_against_float64(model: OrderEmbedding, features: Tensor) -> None:
    gradients, placed = [], []
    for kind in (model, copy.deepcopy(model).double()):
        x = features.to(kind.image.weight.dtype).requires_grad_()
        y = kind.embed_images(x)
        gradients.append(torch.autograd.grad((y * torch.arange(5.0)).sum(), [x, kind.image.weight]))
        placed.append(y.detach().double())
    torch.testing.assert_close(*placed, rtol=1e-5, atol=1e-6)
    for found, right in zip(*gradients, strict=True):
        near = 1e-5 * right.abs().max().item()
        torch.testing.assert_close(found.double(), right, rtol=0, atol=near)


def test_a_row_of_usual_size_is_divided_as_torch_normalizes_it() -> None:
    """Bits of trainings do not change."""
    model, features = order_embedding(), torch.randn(3, FEATURES)
    features[1] = 0
    normalize = torch.nn.functional.normalize
    expected = normalize(model.image(normalize(features, dim=1)), dim=1).abs()
    found = model.embed_images(features)
    assert torch.equal(found, expected)
    ours, theirs = (torch.autograd.grad(y[:, 1].sum(), model.image.weight)[0] for y in (found, expected))
    assert torch.equal(ours, theirs)


def test_a_caption_is_read_to_its_own_end() -> None:
    model = order_embedding().double()
    short, long = torch.tensor([2, 0]), torch.tensor([3, 4, 5, 0])
    together = model.embed_captions(Words.of([short, long], torch.device("cpu")))
    for k, codes in enumerate((short, long)):
        alone = model.embed_captions(Words.of([codes], torch.device("cpu")))
        torch.testing.assert_close(together[k : k + 1], alone, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("method", ["none", "layer_norm", "recurrent_batch_norm"])
def test_gradients_agree_with_finite_differences(method: str) -> None:
    model = order_embedding(method).double()
    words = Words.of([torch.tensor([2, 3, 0]), torch.tensor([4, 0]), torch.tensor([6, 2, 0])], torch.device("cpu"))
    images = torch.randn(3, FEATURES, generator=torch.Generator().manual_seed(5)).double()

    def loss() -> Tensor:
        return contrastive_loss(model.embed_captions(words), model.embed_images(images))

    check_gradients(model, loss, 1e-4, 1e-6)


@pytest.mark.parametrize(("method", "more"), [("none", 0), ("layer_norm", 12_288)])
def test_number_of_parameters_equals_the_papers(method: str, more: int) -> None:
    options = OrderEmbeddingModel()
    with torch.device("meta"):
        parameters = sum(p.numel() for p in order_embedding(method, options, 10_000, 4096).parameters())
    assert parameters == 8_265_728 + 300 * 10_000 + more
    if method == "none":
        assert options.cost(10_000, 1, 4096).parameters == parameters
