import pytest
import torch
from torch import nn
from torch.nn.utils.parametrizations import spectral_norm

from normcore.norms import build
from normcore.norms.population import population_statistics
from normcore.norms.weight_norm import LengthAndDirection, initialize_from_data_
from normcore.recurrent import Recurrent, load_torch_state_dict
from normcore.spec.cells.lstm import LSTM
from normcore.spec.methods.weight_norm import WeightNorm
from normcore.tasks import build as build_task
from normcore.tasks.task import Resources
from tests.normcore.networks import recurrent, taking_in
from tests.normcore.training_specs import training_spec

CELLS = ["rnn", "lstm", "gru"]


def pair(cell: str) -> tuple[Recurrent, Recurrent]:
    """Build two networks from the same seed: with weight norm and without."""
    networks = []
    for method in ("weight_norm", "none"):
        torch.manual_seed(0)
        networks.append(recurrent(cell, 3, 5, norm={"method": method}).double())
    return networks[0], networks[1]


@pytest.mark.parametrize("cell", CELLS)
def test_initial_outputs_equal_the_baseline(cell: str) -> None:
    ours, baseline = pair(cell)
    x = torch.randn(4, 2, 3, dtype=torch.float64)
    torch.testing.assert_close(ours(x)[0], baseline(x)[0], rtol=0, atol=1e-6)


@pytest.mark.parametrize("cell", CELLS)
@pytest.mark.parametrize("matrix", ["weight_ih", "weight_hh"])
def test_length_of_a_row_is_g_and_its_direction_is_v(cell: str, matrix: str) -> None:
    built = pair(cell)[0].cells[0]
    g, v = (getattr(built.parametrizations, matrix).original0, getattr(built.parametrizations, matrix).original1)
    with torch.no_grad():
        v *= 17
        g *= 3
    weight = getattr(built, matrix)
    torch.testing.assert_close(weight.norm(dim=1, keepdim=True), g.abs(), rtol=1e-12, atol=0)
    torch.testing.assert_close(weight / weight.norm(dim=1, keepdim=True), v / v.norm(dim=1, keepdim=True))


def test_matrix_is_computed_once_in_a_forward_pass() -> None:
    network = pair("lstm")[0]
    parametrization = network.get_submodule("cells.0.parametrizations.weight_hh.0")
    calls = []
    parametrization.register_forward_hook(lambda *_: calls.append(1))
    network(torch.randn(7, 2, 3, dtype=torch.float64))
    assert len(calls) == 1


def test_gradient_of_v_is_orthogonal_to_v() -> None:
    """Salimans and Kingma, section 2: the gradient of v is orthogonal to w."""
    network = pair("gru")[0]
    network(torch.randn(4, 2, 3, dtype=torch.float64))[0].square().sum().backward()
    v = network.get_parameter("cells.0.parametrizations.weight_hh.original1")
    assert v.grad is not None
    assert v.grad.abs().max() > 1e-3
    torch.testing.assert_close((v.grad * v).sum(1), torch.zeros(15, dtype=torch.float64), rtol=0, atol=1e-12)


def test_mean_only_batch_norm_subtracts_the_mean_of_each_step() -> None:
    torch.manual_seed(0)
    norm = build(WeightNorm(mean_only_batch_norm=True)).norm(3, "recurrent").double()
    a = torch.randn(4, 5, 3, dtype=torch.float64)
    torch.testing.assert_close(norm(a, 0), a - a.mean(1, keepdim=True), rtol=0, atol=1e-12)
    with population_statistics(norm):
        taking_in(norm, a)
    b = torch.randn(6, 2, 3, dtype=torch.float64)
    means = torch.cat([a.mean(1), a[-1:].mean(1).expand(2, 3)])
    torch.testing.assert_close(norm.eval()(b, 0), b - means.unsqueeze(1), rtol=0, atol=1e-12)


def test_a_mean_over_one_example_is_refused() -> None:
    options = WeightNorm(mean_only_batch_norm=True)
    assert options.needs_batch(LSTM())
    assert not WeightNorm().needs_batch(LSTM())
    with pytest.raises(ValueError, match=r"expected 2 or more examples.*use a larger batch, or evaluation mode"):
        recurrent("lstm", 3, 5, norm=options)(torch.randn(4, 1, 3))
    with pytest.raises(ValueError, match=r"expected 2 or more examples.*use a larger batch, or evaluation mode"):
        build(options).layer((6,))(torch.randn(1, 6))
    assert build(options).layer((6, 3, 2))(torch.randn(1, 6, 3, 2)).isfinite().all()


@pytest.mark.parametrize("shape", [(7,), (7, 6, 5)], ids=["units", "channels"])
def test_initialization_from_data_sets_lengths_and_biases(shape: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    layer = nn.Linear(7, 4) if len(shape) == 1 else nn.Conv2d(7, 4, 3)
    layer.double()
    build(WeightNorm()).parametrize(layer, "weight")
    x = 3 + 2 * torch.randn(500, *shape, dtype=torch.float64)
    initialize_from_data_(layer, x)
    t = layer(x).transpose(0, 1).flatten(1)
    torch.testing.assert_close(t.mean(1), torch.zeros(4, dtype=torch.float64), rtol=0, atol=1e-12)
    torch.testing.assert_close(t.var(1, correction=0), torch.ones(4, dtype=torch.float64), rtol=0, atol=1e-12)
    direction = layer.get_parameter("parametrizations.weight.original1")
    assert direction.std().item() == pytest.approx(0.05, rel=0.3)


def test_initialization_of_a_layer_without_a_bias_sets_lengths_only() -> None:
    """Mean-only batch norm subtracts the mean after such a layer."""
    torch.manual_seed(0)
    layer = nn.Linear(7, 4, bias=False).double()
    build(WeightNorm(mean_only_batch_norm=True)).parametrize(layer, "weight")
    x = 3 + 2 * torch.randn(500, 7, dtype=torch.float64)
    initialize_from_data_(layer, x)
    t = layer(x)
    torch.testing.assert_close(t.var(0, correction=0), torch.ones(4, dtype=torch.float64), rtol=0, atol=1e-12)
    assert t.mean(0).abs().min() > 0.01


def parametrized(layer: nn.Linear) -> nn.Linear:
    build(WeightNorm()).parametrize(layer, "weight")
    return layer


@pytest.mark.parametrize(
    ("layer", "x", "message"),
    [
        (nn.Linear(3, 2), torch.randn(4, 3), "parametrized by length and direction, received Linear"),
        (spectral_norm(nn.Linear(3, 2)), torch.randn(4, 3), "parametrized by length and direction, received"),
        (parametrized(nn.Linear(3, 2)), torch.randn(1, 3), "expected 2 or more examples.*received 1"),
        (
            parametrized(nn.Linear(3, 2)),
            torch.ones(4, 3),
            "expected summed inputs that differ.* for 2 units",
        ),
    ],
)
def test_unusable_layer_or_first_batch_is_refused(layer: nn.Linear, x: torch.Tensor, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        initialize_from_data_(layer, x)


def test_row_of_zeros_is_loaded_with_length_0_and_has_finite_gradients() -> None:
    theirs = torch.nn.LSTM(3, 5)
    with torch.no_grad():
        theirs.get_parameter("weight_ih_l0")[2] = 0
    ours = recurrent("lstm", 3, 5, norm={"method": "weight_norm"})
    load_torch_state_dict(ours, theirs.state_dict())
    x = torch.randn(4, 2, 3)
    y, _ = ours(x)
    torch.testing.assert_close(y, theirs(x)[0], rtol=0, atol=1e-6)
    y.sum().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in ours.parameters())


def weight_of(g: torch.Tensor, v: torch.Tensor) -> list[torch.Tensor]:
    """Compute a weight from its lengths and directions, and the gradients of both."""
    g, v = g.clone().requires_grad_(), v.clone().requires_grad_()
    weight = LengthAndDirection()(g, v)
    factors = torch.randn(v.shape, generator=torch.Generator().manual_seed(8)).to(v.dtype)
    return [weight.detach(), *torch.autograd.grad((weight * factors).sum(), [g, v])]


@pytest.mark.parametrize("size", [3e-25, 1e-20, 1e-12, 1e12, 3e19, 1e30])
@pytest.mark.parametrize("shape", [(4, 7), (4, 3, 2, 2)], ids=["units", "channels"])
def test_large_and_small_directions_give_the_weight_of_float64(shape: tuple[int, ...], size: float) -> None:
    random = torch.Generator().manual_seed(7)
    g, v = torch.randn(4, *[1] * (len(shape) - 1), generator=random), size * torch.randn(shape, generator=random)
    for found, exact in zip(weight_of(g, v), weight_of(g.double(), v.double()), strict=True):
        assert found.dtype == torch.float32
        near = 1e-6 * exact.abs().max().item()
        torch.testing.assert_close(found.double(), exact, rtol=0, atol=near)


@pytest.mark.parametrize("size", [3e-25, 1.0, 3e19])
def test_large_and_small_rows_are_loaded(size: float) -> None:
    weight = size * torch.tensor([[3.0, 4.0], [0.0, 0.0], [1.0, 0.0]])
    g, v = LengthAndDirection().right_inverse(weight)
    torch.testing.assert_close(g, size * torch.tensor([[5.0], [0.0], [1.0]]), rtol=1e-6, atol=0)
    torch.testing.assert_close(LengthAndDirection()(g, v), weight, rtol=1e-6, atol=0)


def test_the_description_says_how_many_images_the_first_batch_has() -> None:
    spec = training_spec({"task": {"name": "feedforward", "profile": "smoke"}, "norm": {"method": "weight_norm"}}).task
    first = next(build_task(spec, Resources(None, torch.device("cpu"), torch.float32)).population())
    assert len(first.labels) == 1000
    description = WeightNorm.model_fields["init"].description
    assert description is not None
    assert "up to 1,000 training images, where the authors' code takes 500" in description
