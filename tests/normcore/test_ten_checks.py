"""Ten cheap checks that catch most mistakes in the two papers' experiments, one test each."""

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from normcore.cells.lstm import LSTM, LSTMState
from normcore.losses import bernoulli_cross_entropy, kl_to_standard_normal
from normcore.models.classifier import SequenceClassifier
from normcore.models.language_model import LanguageModel
from normcore.norms import build
from normcore.norms.population import population_statistics
from normcore.recurrent import Recurrent
from normcore.retrieval import caption_ranks, image_ranks
from normcore.spec.cells.lstm import LSTM as LSTMOptions  # noqa: N811
from normcore.spec.methods.layer_norm import LayerNorm
from normcore.spec.methods.none import NoNorm
from normcore.spec.methods.recurrent_batch_norm import RecurrentBatchNorm
from normcore.spec.models.model import Place
from normcore.spec.optimizers import Optimizer
from normcore.spec.optimizers.adam import Adam
from normcore.spec.optimizers.rmsprop import RMSProp
from normcore.spec.optimizers.toronto_adam import TorontoAdam
from normcore.training import optimizers
from tests.normcore.networks import recurrent
from tests.normcore.training_specs import recurrent_model, training_spec

BN: dict[str, object] = {"method": "recurrent_batch_norm"}
LN: dict[str, object] = {"method": "layer_norm"}
each_cell = pytest.mark.parametrize("cell", ["rnn", "lstm", "gru"])


def network(cell: str = "lstm", norm: dict[str, object] | None = None, inputs: int = 3, units: int = 5) -> Recurrent:
    torch.manual_seed(0)
    return recurrent(cell, inputs, units, norm=norm)


@pytest.mark.parametrize(
    ("options", "factor"),
    [
        (RMSProp(lr=0.01, decay=0.9), 3.162),
        (RMSProp(lr=0.01, decay=0.5), 1.414),
        (Adam(lr=0.01), 1.0),
        (TorontoAdam(lr=0.01), 3.51),
    ],
)
def test_1_the_first_update_moves_every_coordinate_alike(options: Optimizer, factor: float) -> None:
    """The factors are lr / sqrt(1 - decay); lr; and lr 0.1 / sqrt(0.001) times the factor 1.11 of the authors' code."""
    gradient = torch.tensor([3.0, -2e-3, 50.0], dtype=torch.float64)
    parameter = nn.Parameter(torch.zeros(3, dtype=torch.float64))
    optimizer = optimizers.build(options, [parameter])
    parameter.grad = gradient.clone()
    optimizer.step()
    torch.testing.assert_close(parameter.detach(), -0.01 * factor * gradient.sign(), rtol=1e-3, atol=0)


@each_cell
def test_2_statistics_of_one_full_batch_reproduce_training_on_it(cell: str) -> None:
    ours = network(cell, BN)
    x = torch.randn(12, 50, 3)
    x[:3] = 0.5
    with torch.no_grad(), population_statistics(ours):
        ours(x)
    trained, _ = ours(x)
    evaluated, _ = ours.eval()(x)
    torch.testing.assert_close(evaluated, trained, rtol=0, atol=1e-6)


@each_cell
def test_3_repeated_example_leaves_only_the_shifts_of_batch_norm_and_keeps_layer_norm(cell: str) -> None:
    """The biases that reach h are zero, so o tanh(0) and z h are zero, too."""
    x = torch.randn(4, 1, 3, generator=torch.Generator().manual_seed(1))
    ours = network(cell, BN)
    y, _ = ours(x.expand(4, 6, 3))
    y.square().sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in ours.parameters())
    torch.testing.assert_close(y, torch.zeros_like(y))

    ours = network(cell, LN).double()
    torch.testing.assert_close(
        ours(x.double().expand(4, 6, 3))[0], ours(x.double())[0].expand(4, 6, 5), rtol=0, atol=1e-12
    )


@pytest.mark.parametrize("site", ["input", "recurrent"])
def test_4_layer_norm_normalizes_the_four_gates_together(site: Place) -> None:
    joint = build(LayerNorm(scope="joint", eps=1e-12)).norm(50, site, (4,)).double()
    per_gate = build(LayerNorm(scope="per_gate", eps=1e-12)).norm(50, site, (4,)).double()
    on_different_scales = torch.tensor([5.0, 1.0, 1.0, 0.2]).repeat_interleave(50)
    a = torch.randn(6, 200, generator=torch.Generator().manual_seed(0)).double() * on_different_scales
    ones = torch.ones(6, dtype=torch.float64)
    torch.testing.assert_close(joint(a, 0).var(1, correction=0), ones, rtol=0, atol=1e-9)
    assert (joint(a, 0).view(6, 4, 50).var(2, correction=0) - 1).abs().min() > 0.1
    torch.testing.assert_close(per_gate(a, 0).view(6, 4, 50).var(2, correction=0), ones.unsqueeze(1).expand(6, 4))
    x = torch.randn(4, 2, 3)
    whole, apart = (network(norm={**LN, "scope": scope})(x)[0] for scope in ("joint", "per_gate"))
    assert (whole - apart).abs().max() > 0.01


@pytest.mark.parametrize("options", [LayerNorm(), RecurrentBatchNorm()], ids=lambda o: o.method)
def test_5_cell_is_carried_unnormalized(options: LayerNorm | RecurrentBatchNorm) -> None:
    """The gain of the read-out changes h' and never c'."""
    torch.manual_seed(0)
    cell = LSTM(LSTMOptions(hidden_size=5), 3, build(options))
    term, state = cell.input_term(torch.randn(1, 4, 3), 0)[0], LSTMState(torch.randn(4, 5), torch.randn(4, 5))
    before = cell.step(term, state, 0)
    with torch.no_grad():
        cell.norm_c.get_parameter("weight").mul_(10)
    after = cell.step(term, state, 0)
    assert torch.equal(after.c, before.c)
    assert not torch.allclose(after.h, before.h)


def test_6_statistics_of_the_last_step_are_used_beyond_the_training_length() -> None:
    """A sequence of 200 steps with 99 known steps equals one with 200 known steps, where step 99 is repeated."""
    ours, tiled = network(norm=BN), network(norm=BN)
    with torch.no_grad(), population_statistics(ours):
        ours(torch.randn(99, 8, 3))
    tiled.load_state_dict(
        {
            name: torch.cat([value, value[-1:].expand(101, -1)]) if "running" in name else value
            for name, value in ours.state_dict().items()
        }
    )
    assert len(tiled.get_buffer("cells.0.norm_h.running_mean")) == 200
    x = torch.randn(200, 4, 3)
    assert torch.equal(ours.eval()(x)[0], tiled.eval()(x)[0])


def loss_of_the_reader(norm: dict[str, object], everywhere: bool, padding: int) -> float:
    """Compute the loss of projected states of a passage, summed without the padding.

    With ``everywhere``, batch norm normalizes the projections of all states of the batch together, padding included.
    """
    passage = network(norm=norm).double()
    projection = nn.Linear(5, 4, bias=False).double()
    layer = build(RecurrentBatchNorm()).layer((4,)).double() if everywhere else nn.Identity()
    lengths = torch.tensor([6, 1, 4, 3])
    x = torch.randn(6, 4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    y, _ = passage(torch.cat([x, torch.full((padding, 4, 3), 7.0, dtype=torch.float64)]), lengths)
    projected = layer(projection(y).flatten(0, 1)).unflatten(0, y.shape[:2])
    real = torch.arange(len(y)).unsqueeze(1) < lengths
    loss: float = projected[real].tanh().sum().item()
    return loss


@pytest.mark.parametrize("norm", [{"method": "none"}, BN, LN], ids=lambda norm: norm["method"])
def test_7_masked_steps_change_the_loss_only_with_batch_norm_everywhere(norm: dict[str, object]) -> None:
    assert loss_of_the_reader(norm, False, padding=5) == pytest.approx(loss_of_the_reader(norm, False, 0), abs=1e-12)
    assert abs(loss_of_the_reader(norm, True, padding=5) - loss_of_the_reader(norm, True, padding=0)) > 1e-3


def test_8_ranks_are_1_for_identity_energies_and_in_the_middle_for_random_energies() -> None:
    known = -torch.eye(1000)
    assert image_ranks(known).eq(1).all()
    assert caption_ranks(known).eq(1).all()
    random = torch.rand(5000, 1000, generator=torch.Generator().manual_seed(0))
    mean = image_ranks(random).double().mean().item()
    assert mean == pytest.approx(500.5, abs=5 * 288.7 / 5000**0.5)  # ranks are uniform over 1 ... 1000


def test_9_standard_normal_costs_0_and_an_empty_canvas_543_nats() -> None:
    assert not kl_to_standard_normal(torch.zeros(3, 100), torch.zeros(3, 100)).any()
    write = nn.Linear(256, 784)
    nn.init.zeros_(write.weight)
    nn.init.zeros_(write.bias)
    images = torch.randint(2, (3, 784), generator=torch.Generator().manual_seed(0)).float()
    cost = bernoulli_cross_entropy(write(torch.randn(3, 256)), images)
    assert cost.tolist() == pytest.approx([784 * math.log(2)] * 3)
    assert 784 * math.log(2) == pytest.approx(543.4, abs=0.05)


def parameters(*modules: nn.Module, without: tuple[str, ...] = ()) -> int:
    """Count the parameters whose names do not end with ``without``: a paper's model may not train its first state."""
    return sum(p.numel() for module in modules for name, p in module.named_parameters() if not name.endswith(without))


def pixel_classifier(method: str) -> int:
    """Count the parameters of the classifier of RBN section 5.1."""
    spec = training_spec({"task": {"name": "permuted_mnist", "profile": "paper"}, "norm": {"method": method}})
    return parameters(SequenceClassifier(Recurrent(recurrent_model(spec.model), 1, spec.norm), 10))


def ptb(method: str) -> int:
    """Count the parameters of the language model of RBN section 5.2."""
    spec = training_spec({"task": {"name": "char_lm", "profile": "paper"}, "norm": {"method": method}})
    return parameters(LanguageModel(Recurrent(recurrent_model(spec.model), 50, spec.norm), 50))


def text8(method: str) -> int:
    """Count the parameters of the language model of RBN section 5.3: 27 symbols, 2000 units."""
    return parameters(LanguageModel(recurrent("lstm", 27, 2000, norm={"method": method}), 27))


def skip_thoughts(method: str) -> int:
    """Count the parameters of LN section 6.3: encoder and decoders of 2400, embeddings and softmax of 20,000 words."""
    grus = [recurrent("gru", 620, 2400, norm={"method": method}, first_state="zeros") for _ in range(3)]
    return parameters(*grus, nn.Embedding(20_000, 620), nn.Linear(2400, 20_000))


def draw(method: str) -> int:
    """Count the parameters of LN section 6.4 and Gregor et al. 2015, Table 3: encoder, decoder, and linear maps."""
    norm = {"method": method, **({"sites": ["cell"]} if method == "layer_norm" else {})}
    plain: dict[str, Any] = {"first_state": "zeros", "first_cell": "zeros", "cell_bias": False}
    lstms = [recurrent("lstm", size, 256, norm=norm, **plain) for size in (264, 100)]
    maps = [nn.Linear(256, size) for size in (100, 100, 5, 5, 25)]
    return parameters(*lstms, *maps)


def multilayer_perceptron(method: str) -> int:
    """Count the parameters of LN section 6.6, with gain and shift in both hidden layers."""
    norms = [build(NoNorm() if method == "none" else LayerNorm()).layer((1000,)) for _ in range(2)]
    return parameters(nn.Linear(784, 1000), nn.Linear(1000, 1000), nn.Linear(1000, 10), *norms)


@pytest.mark.parametrize(
    ("model", "method", "count"),
    [
        (pixel_classifier, "none", 42_110),
        (pixel_classifier, "recurrent_batch_norm", 43_010),
        (pixel_classifier, "layer_norm", 43_010 + 800),
        (ptb, "none", 4_257_050),
        (ptb, "recurrent_batch_norm", 4_257_050 + 9_000),
        (text8, "none", 16_284_027),
        (text8, "recurrent_batch_norm", 16_284_027 + 18_000),
        (skip_thoughts, "none", 125_673_600),
        (skip_thoughts, "layer_norm", 125_673_600 + 86_400),
        (draw, "none", 959_467),
        (draw, "layer_norm", 959_467 + 1_024),
        (multilayer_perceptron, "none", 1_796_010),
        (multilayer_perceptron, "layer_norm", 1_796_010 + 4_000),
    ],
)
def test_10_number_of_parameters_equals_the_papers(model: Callable[[str], int], method: str, count: int) -> None:
    with torch.device("meta"):
        assert model(method) == count
