"""The skip-thoughts model computes the equations of Kiros et al. 2015, as implemented in the authors' code."""

import numpy as np
import pytest
import torch
from torch import Tensor

from normcore.models.build import Build
from normcore.models.skip_thoughts import SkipThoughts
from normcore.models.words import Words
from normcore.spec.methods import METHODS
from normcore.spec.models.skip_thoughts import SkipThoughtsModel
from tests.normcore.models.slopes import check_gradients

SMALL = SkipThoughtsModel(hidden_size=5, embedding_size=4)
WORDS = 7
CPU = torch.device("cpu")


def skip_thoughts(method: str = "none", options: SkipThoughtsModel = SMALL, words: int = WORDS) -> SkipThoughts:
    kind = METHODS[method]
    norm = kind.model_validate({**kind.defaults(SkipThoughtsModel), "method": method})
    torch.manual_seed(0)
    return SkipThoughts(Build(options, norm, "auto", CPU, torch.float32), options, words)


def sentences() -> tuple[Words, Words, Words]:
    middle = [torch.tensor([2, 3, 0]), torch.tensor([4, 5, 0])]
    before = [torch.tensor([5, 0]), torch.tensor([3, 3, 6, 0])]
    after = [torch.tensor([6, 2, 4, 0]), torch.tensor([2, 0])]
    return Words.of(middle, CPU), Words.of(before, CPU), Words.of(after, CPU)


def sigmoid(a: np.ndarray) -> np.ndarray:
    written: np.ndarray = 1 / (1 + np.exp(-a))
    return written


def step(cell: torch.nn.Module, x: np.ndarray, h: np.ndarray) -> np.ndarray:
    """Compute LN Eq. 26-28 with biases inside the input norms, or Eq. 23-25 without norms; z keeps the old state."""
    p = {name: parameter.detach().numpy() for name, parameter in cell.named_parameters()}
    size = len(h)

    def norm(name: str, a: np.ndarray) -> np.ndarray:
        if f"{name}.weight" not in p:
            return a
        parts = np.split(a, [2 * size])
        n = np.concatenate([(part - part.mean()) / np.sqrt(part.var() + 1e-5) for part in parts])
        return np.asarray(n * p[f"{name}.weight"] + p.get(f"{name}.bias", 0))

    a_x = norm("norm_x", p["weight_ih"] @ x + p["bias"])
    a_h = norm("norm_h", p["weight_hh"] @ h)
    r, z = np.split(sigmoid(a_x[: 2 * size] + a_h[: 2 * size]), 2)
    candidate = np.tanh(a_x[2 * size :] + r * a_h[2 * size :])
    return np.asarray(z * h + (1 - z) * candidate)


def cost(model: SkipThoughts, middle: list[int], others: list[list[int]]) -> float:
    """Compute the cost of one sentence and its neighbours."""
    embedding = model.encoder.embedding.weight.detach().numpy()
    readout, bias = model.readout.weight.detach().numpy(), model.readout.bias.detach().numpy()
    h = np.zeros(SMALL.hidden_size)
    for word in middle:
        h = step(model.encoder.network.cells[0], embedding[word], h)
    total = 0.0
    for decoder, said in zip((model.before, model.after), others, strict=True):
        state, x = h, np.zeros(SMALL.embedding_size)
        for word in said:
            state = step(decoder.cells[0], x, state)
            logits = readout @ state + bias
            total -= logits[word] - np.log(np.exp(logits).sum())
            x = embedding[word]
    return total


@pytest.mark.parametrize("method", ["none", "layer_norm"])
def test_model_computes_the_equations_of_the_papers(method: str) -> None:
    model = skip_thoughts(method).double()
    torch.manual_seed(1)
    for name, parameter in model.named_parameters():
        if "norm_" not in name:
            torch.nn.init.normal_(parameter, std=0.5)
    found = model(*sentences()).tolist()
    assert found[0] == pytest.approx(cost(model, [2, 3, 0], [[5, 0], [6, 2, 4, 0]]), rel=1e-10)
    assert found[1] == pytest.approx(cost(model, [4, 5, 0], [[3, 3, 6, 0], [2, 0]]), rel=1e-10)


@pytest.mark.parametrize("method", ["none", "layer_norm", "recurrent_batch_norm"])
def test_gradients_agree_with_finite_differences(method: str) -> None:
    model = skip_thoughts(method).double()

    def loss() -> Tensor:
        total: Tensor = model(*sentences()).sum()
        return total

    check_gradients(model, loss, 1e-4, 1e-6)


@pytest.mark.parametrize(("method", "count"), [("none", 125_673_600), ("layer_norm", 125_673_600 + 86_400)])
def test_number_of_parameters_equals_the_papers(method: str, count: int) -> None:
    options = SkipThoughtsModel()
    with torch.device("meta"):
        parameters = sum(p.numel() for p in skip_thoughts(method, options, 20_000).parameters())
    assert parameters == count
