"""Models have the papers' numbers of parameters, to the unit."""

from typing import Any

import pytest
import torch
from torch import nn

from normcore.models.assembly import recurrent_of
from normcore.models.classifier import SequenceClassifier
from normcore.models.language_model import LanguageModel
from normcore.norms import build
from normcore.recurrent import Recurrent
from normcore.spec import resolve
from normcore.spec.norm import NoNorm


@pytest.mark.parametrize(("method", "count"), [("none", 42_110), ("recurrent_batch_norm", 43_010)])
def test_the_pixel_classifier_of_the_paper(method: str, count: int) -> None:
    """RBN section 5.1."""
    spec = resolve({"task": {"name": "permuted_mnist", "profile": "paper"}, "norm": {"method": method}})
    model = SequenceClassifier(recurrent_of(spec.model, spec.norm, "reference")(1), 10)
    assert sum(p.numel() for p in model.parameters()) == count


@pytest.mark.parametrize(("method", "count"), [("none", 4_257_050), ("recurrent_batch_norm", 4_266_050)])
def test_the_language_model_of_the_paper(method: str, count: int) -> None:
    """RBN section 5.2."""
    spec = resolve({"task": {"name": "char_lm", "profile": "paper"}, "norm": {"method": method}})
    with torch.device("meta"):
        model = LanguageModel(recurrent_of(spec.model, spec.norm, "reference")(50), 50)
    assert sum(p.numel() for p in model.parameters()) == count


@pytest.mark.parametrize(("method", "count"), [("none", 16_284_027), ("recurrent_batch_norm", 16_302_027)])
def test_the_language_model_of_text8(method: str, count: int) -> None:
    """RBN section 5.3: 27 symbols, 2000 units."""
    with torch.device("meta"):
        model = LanguageModel(Recurrent("lstm", 27, 2000, norm={"method": method}), 27)
    assert sum(p.numel() for p in model.parameters()) == count


def parameters(module: nn.Module, without: tuple[str, ...]) -> int:
    """How many there are, less those whose name ends so: a paper's model may not train its first state."""
    return sum(p.numel() for name, p in module.named_parameters() if not name.endswith(without))


@pytest.mark.parametrize(("method", "count"), [("none", 125_673_600), ("layer_norm", 125_760_000)])
def test_the_networks_of_skip_thoughts(method: str, count: int) -> None:
    """LN section 6.3: an encoder and two decoders of 2400, around embeddings and a softmax of 20,000 words."""
    with torch.device("meta"):
        gru = Recurrent("gru", 620, 2400, norm={"method": method})
    words = nn.Embedding(20_000, 620, device="meta"), nn.Linear(2400, 20_000, device="meta")
    assert 3 * parameters(gru, ("h0",)) + sum(parameters(module, ()) for module in words) == count


@pytest.mark.parametrize(
    ("norm", "without", "count"),
    [
        ({"method": "none"}, ("h0", "c0", "norm_c.bias"), 959_467),
        ({"method": "layer_norm", "sites": ["cell"]}, ("h0", "c0"), 960_491),
    ],
)
def test_the_networks_of_draw(norm: dict[str, Any], without: tuple[str, ...], count: int) -> None:
    """LN section 6.4 and Gregor et al. 2015, Table 3: encoder, decoder, and the linear maps between them."""
    lstms = Recurrent("lstm", 264, 256, norm=norm), Recurrent("lstm", 100, 256, norm=norm)
    maps = [(256, 100), (256, 100), (256, 5), (256, 5), (256, 25)]
    assert sum(parameters(lstm, without) for lstm in lstms) + sum((i + 1) * o for i, o in maps) == count


def test_the_feed_forward_network_of_the_paper() -> None:
    """LN section 6.6, unnormalized."""
    layers = [nn.Linear(784, 1000), nn.Linear(1000, 1000), nn.Linear(1000, 10), build(NoNorm()).layer((1000,))]
    assert sum(parameters(layer, ()) for layer in layers) == 1_796_010
