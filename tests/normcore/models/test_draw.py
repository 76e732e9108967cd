"""DRAW computes the equations of Gregor et al. 2015, and its cells compute those of LN section 6.4."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from normcore.losses import bernoulli_cross_entropy
from normcore.models.build import Build
from normcore.models.draw import Draw
from normcore.norms.population import population_statistics
from normcore.spec.methods import METHODS
from normcore.spec.models.draw import DrawModel
from tests.normcore.models.slopes import check_gradients
from tests.normcore.models.test_gaussian_filters import written_out

SIDE, EXAMPLES = 5, 3
SMALL = DrawModel(hidden_size=4, latent_size=2, glimpses=3, read_size=2, write_size=3)


def draw(method: str = "none", options: DrawModel = SMALL, side: int = SIDE, device: str = "cpu") -> Draw:
    kind = METHODS[method]
    norm = kind.model_validate({**kind.defaults(DrawModel), "method": method})
    torch.manual_seed(0)
    return Draw(Build(options, norm, "auto", torch.device(device), torch.float32), options, side)


def lively(model: Draw) -> Draw:
    """Convert DRAW to float64, with weights large enough for every part to matter."""
    torch.manual_seed(1)
    for name, parameter in model.double().named_parameters():
        if not name.endswith("norm_c.weight"):
            torch.nn.init.normal_(parameter, std=0.5)
    return model


def images() -> Tensor:
    return (torch.rand(EXAMPLES, SIDE, SIDE, generator=torch.Generator().manual_seed(2)) < 0.5).double()


def noise(model: Draw) -> Tensor:
    return model.noise(EXAMPLES, torch.Generator().manual_seed(3))


def sigmoid(a: np.ndarray) -> Any:
    return 1 / (1 + np.exp(-a))


def lstm(parameters: dict[str, np.ndarray], name: str, x: np.ndarray, h: np.ndarray, c: np.ndarray) -> Any:
    """Compute one LSTM step, LN Eq. 29-31. Only the read-out of the cell is normalized, if anything is."""
    own = {key.removeprefix(f"{name}."): value for key, value in parameters.items() if key.startswith(f"{name}.")}
    i, f, g, o = np.split(own["weight_ih"] @ x + own["weight_hh"] @ h + own["bias"], 4)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    read = c
    if "norm_c.weight" in own:
        read = (c - c.mean()) / np.sqrt(c.var() + 1e-5) * own["norm_c.weight"] + own["norm_c.bias"]
    return sigmoid(o) * np.tanh(read), c


def written(model: Draw, image: np.ndarray, epsilon: np.ndarray) -> tuple[np.ndarray, float]:
    """Compute the canvas of one image, and the nats of its latent numbers."""
    p = {name: parameter.detach().numpy() for name, parameter in model.named_parameters()}

    def linear(name: str, h: np.ndarray) -> Any:
        return p[f"{name}.weight"] @ h + p[f"{name}.bias"]

    options = model.options
    hidden = options.hidden_size
    canvas, kl = np.zeros_like(image), 0.0
    h_enc, c_enc, h_dec, c_dec = np.zeros((4, hidden))
    for t in range(options.glimpses):
        error = image - sigmoid(canvas)
        f_x, f_y, intensity = written_out(linear("read_attention", h_dec), SIDE, options.read_size)
        r = [intensity * f_y @ seen @ f_x.T for seen in (image, error)]
        h_enc, c_enc = lstm(p, "encoder", np.concatenate([r[0].ravel(), r[1].ravel(), h_dec]), h_enc, c_enc)
        mean, deviation = linear("mean", h_enc), np.exp(linear("log_deviation", h_enc))
        kl += 0.5 * sum(m**2 + s**2 - 2 * math.log(s) - 1 for m, s in zip(mean, deviation, strict=True))
        h_dec, c_dec = lstm(p, "decoder", mean + deviation * epsilon[t], h_dec, c_dec)
        f_x, f_y, intensity = written_out(linear("write_attention", h_dec), SIDE, options.write_size)
        patch = linear("patch", h_dec).reshape(options.write_size, options.write_size)
        canvas = canvas + f_y.T @ patch @ f_x / intensity
    return canvas, kl


@pytest.mark.parametrize("method", ["none", "layer_norm"])
def test_model_computes_the_equations_of_the_papers(method: str) -> None:
    model = lively(draw(method))
    x, epsilon = images(), noise(model)
    drawn = model(x, epsilon)
    for b in range(EXAMPLES):
        canvas, kl = written(model, x[b].numpy(), epsilon[:, b].numpy())
        np.testing.assert_allclose(drawn.canvas[b].detach().numpy(), canvas, rtol=1e-10, atol=1e-12)
        assert drawn.kl[b].item() == pytest.approx(kl, rel=1e-10)


@pytest.mark.parametrize("method", ["none", "layer_norm", "recurrent_batch_norm"])
def test_gradients_agree_with_finite_differences(method: str) -> None:
    model = lively(draw(method))
    x, epsilon = images(), noise(model)

    def loss() -> Tensor:
        drawn = model(x, epsilon)
        total: Tensor = bernoulli_cross_entropy(drawn.canvas.flatten(1), x.flatten(1)).sum() + drawn.kl.sum()
        return total

    check_gradients(model, loss, 1e-5, 1e-6)


@pytest.mark.parametrize(("method", "count"), [("none", 959_467), ("layer_norm", 959_467 + 1_024)])
def test_number_of_parameters_equals_the_papers(method: str, count: int) -> None:
    options = DrawModel()
    with torch.device("meta"):
        parameters = sum(p.numel() for p in draw(method, options, side=28, device="meta").parameters())
    assert parameters == count


def test_empty_canvas_costs_ln_2_per_pixel_and_latent_numbers_of_the_prior_cost_0() -> None:
    model = draw(side=28).double()
    for layer in (model.patch, model.mean, model.log_deviation):
        torch.nn.init.zeros_(layer.weight)
    x = torch.ones(EXAMPLES, 28, 28, dtype=torch.float64)
    drawn = model(x, noise(model))
    assert drawn.kl.tolist() == [0.0] * EXAMPLES
    cost = bernoulli_cross_entropy(drawn.canvas.flatten(1), x.flatten(1))
    np.testing.assert_allclose(cost.detach().numpy(), 784 * math.log(2), rtol=1e-12)


def test_generation_decodes_the_given_latent_numbers() -> None:
    """Encoding an image with the same latent numbers gives the same canvas."""
    model = lively(draw())
    with torch.no_grad():
        for layer in (model.mean, model.log_deviation):
            for parameter in layer.parameters():
                parameter.zero_()
    epsilon = noise(model)
    *_, last = model.generate(epsilon)
    torch.testing.assert_close(last, model(images(), epsilon).canvas.detach(), rtol=0, atol=1e-12)


def test_noise_is_drawn_anew_unless_given() -> None:
    model = lively(draw())
    x = images()
    assert not torch.equal(model(x).canvas, model(x).canvas)
    torch.manual_seed(7)
    first = model(x).canvas
    torch.manual_seed(7)
    assert torch.equal(first, model(x).canvas)


def test_batch_norm_has_statistics_for_every_glimpse() -> None:
    """The norms of both cells record every step of a pass. Evaluation with these statistics equals training."""
    model = lively(draw("recurrent_batch_norm"))
    x, epsilon = images(), noise(model)
    trained = model.train()(x, epsilon)
    with torch.no_grad(), population_statistics(model.eval()):
        model(x, epsilon)
    for cell in (model.encoder, model.decoder):
        assert cell.get_buffer("norm_c.running_mean").shape == (SMALL.glimpses, SMALL.hidden_size)  # type: ignore[attr-defined]
    evaluated = model(x, epsilon)
    torch.testing.assert_close(evaluated.canvas, trained.canvas, rtol=1e-9, atol=1e-9)


def test_method_over_whole_sequences_is_refused() -> None:
    misfit = METHODS["sequence_batch_norm"].model_validate({"method": "sequence_batch_norm"}).misfit(SMALL)
    assert misfit is not None
    assert misfit.field == "method"
    assert "draw makes its inputs as it goes" in misfit.message
