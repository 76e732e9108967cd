"""Handwriting synthesis computes the equations of Graves 2013, and its cells compute LN Eq. 20-22."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from normcore.models.build import Build
from normcore.models.handwriting import Handwriting, Text
from normcore.models.pen_mixture import PenMixture
from normcore.spec.methods import METHODS
from normcore.spec.models.handwriting import HandwritingModel
from normcore.spec.tasks.handwriting import KINDS
from tests.normcore.models.slopes import check_gradients

SMALL = HandwritingModel(hidden_size=4, gaussians=2, components=2)
STEPS, EXAMPLES, CHARACTERS, FEW_KINDS = 5, 3, 4, 6


def handwriting(method: str = "none", options: HandwritingModel = SMALL, kinds: int = FEW_KINDS) -> Handwriting:
    kind = METHODS[method]
    norm = kind.model_validate({**kind.defaults(HandwritingModel), "method": method})
    torch.manual_seed(0)
    return Handwriting(Build(options, norm, "auto", torch.device("cpu"), torch.float32), options, kinds)


def lively(method: str = "none") -> Handwriting:
    """Build a network in float64, with weights large enough for every part to matter."""
    model = handwriting(method).double()
    torch.manual_seed(1)
    for name, parameter in model.named_parameters():
        if "norm_" not in name:
            torch.nn.init.normal_(parameter, std=0.4)
    return model


def text(lengths: list[int] | None = None) -> Text:
    codes = torch.randint(FEW_KINDS, (EXAMPLES, CHARACTERS), generator=torch.Generator().manual_seed(2))
    return Text.of(codes, torch.tensor(lengths or [CHARACTERS] * EXAMPLES), FEW_KINDS, torch.float64)


def points() -> Tensor:
    generator = torch.Generator().manual_seed(3)
    moves = torch.randn(STEPS, EXAMPLES, 2, generator=generator, dtype=torch.float64)
    return torch.cat([moves, (torch.rand(STEPS, EXAMPLES, 1, generator=generator) < 0.3).double()], 2)


ALL = torch.tensor([STEPS] * EXAMPLES)


def sigmoid(a: np.ndarray) -> Any:
    return 1 / (1 + np.exp(-a))


class ReferenceLSTM:
    """LSTM of LN Eq. 20-22 for one example; without norms if the module has none."""

    def __init__(self, module: Any) -> None:
        self.p = {name: parameter.detach().numpy() for name, parameter in module.named_parameters()}
        self.h = self.c = np.zeros(SMALL.hidden_size)

    def step(self, x: np.ndarray) -> np.ndarray:
        summed = self.norm("x", self.p["weight_ih"] @ x) + self.norm("h", self.p["weight_hh"] @ self.h) + self.p["bias"]
        i, f, g, o = np.split(summed, 4)
        self.c = sigmoid(f) * self.c + sigmoid(i) * np.tanh(g)
        self.h = sigmoid(o) * np.tanh(self.norm("c", self.c))
        return self.h

    def norm(self, place: str, a: np.ndarray) -> np.ndarray:
        if f"norm_{place}.weight" not in self.p:
            return a
        n: np.ndarray = (a - a.mean()) / np.sqrt(a.var() + 1e-5) * self.p[f"norm_{place}.weight"]
        n += self.p.get(f"norm_{place}.bias", 0)
        return n


def written(model: Handwriting, points: np.ndarray, characters: np.ndarray) -> np.ndarray:
    """Compute the outputs (T, ...) for one example."""

    def linear(name: str, a: np.ndarray) -> Any:
        layer = getattr(model, name)
        return layer.weight.detach().numpy() @ a + layer.bias.detach().numpy()

    above: Any = model.above
    cells = [ReferenceLSTM(model.first), *(ReferenceLSTM(layer.cells[0]) for layer in above)]
    position, window = np.zeros(SMALL.gaussians), np.zeros(FEW_KINDS)
    u = np.arange(1, len(characters) + 1)
    outputs = []
    for point in points:
        h = [cells[0].step(np.concatenate([point, window]))]
        alpha, beta, advance = np.split(np.exp(linear("window", h[0])), 3)
        position = position + advance
        phi = (alpha[:, None] * np.exp(-beta[:, None] * (position[:, None] - u) ** 2)).sum(0)
        window = phi @ characters
        for cell in cells[1:]:
            h.append(cell.step(np.concatenate([point, window, h[-1]])))
        outputs.append(linear("output", np.concatenate(h)))
    return np.stack(outputs)


@pytest.mark.parametrize("method", ["none", "layer_norm"])
def test_model_computes_the_equations_of_the_papers(method: str) -> None:
    model, x, said = lively(method), points(), text()
    found = model(x, ALL, STEPS, said).detach().numpy()
    for b in range(EXAMPLES):
        expected = written(model, x[:, b].numpy(), said.characters[b].numpy())
        np.testing.assert_allclose(found[:, b], expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("method", ["none", "layer_norm", "recurrent_batch_norm"])
def test_gradients_agree_with_finite_differences(method: str) -> None:
    model, x, said = lively(method), points(), text([4, 2, 3])
    lengths = torch.tensor([5, 3, 4])

    def loss() -> Tensor:
        cost = PenMixture.of(model(x, lengths, STEPS, said)).cost(x)
        total: Tensor = cost.masked_fill(torch.arange(STEPS).unsqueeze(1) >= lengths, 0).sum()
        return total

    check_gradients(model, loss, 1e-4, 1e-5)


@pytest.mark.parametrize(("method", "count"), [("none", 3_650_151), ("layer_norm", 3_650_151 + 21_600)])
def test_number_of_parameters_equals_the_papers(method: str, count: int) -> None:
    options = HandwritingModel()
    with torch.device("meta"):
        parameters = sum(p.numel() for p in handwriting(method, options, KINDS).parameters())
    assert parameters == count


def test_padding_of_points_and_characters_changes_nothing() -> None:
    model, x = lively("layer_norm"), points()
    lengths = torch.tensor([5, 2, 3])
    together = model(x, lengths, STEPS, text([4, 1, 2]))
    for b, (steps, characters) in enumerate([(5, 4), (2, 1), (3, 2)]):
        said = Text(text().characters[b : b + 1, :characters], torch.tensor([characters]))
        alone = model(x[:steps, b : b + 1], torch.tensor([steps]), steps, said)
        torch.testing.assert_close(together[:steps, b : b + 1], alone, rtol=1e-10, atol=1e-12)


def test_each_written_point_is_the_next_input() -> None:
    """A pass over the written points gives the mixtures from which they were drawn."""
    model, said = lively("layer_norm").eval(), text()
    begin = torch.tensor([-0.2, 0.1, 0.0])
    steps = list(model.write(said, begin, torch.Generator().manual_seed(0), most=STEPS))
    first = begin.double().expand(1, EXAMPLES, 3)
    drawn = torch.stack([step.point for step in steps])
    expected = PenMixture.of(model(torch.cat([first, drawn[:-1]]), ALL[:EXAMPLES] * 0 + len(drawn), len(drawn), said))
    generator = torch.Generator().manual_seed(0)
    for t, point in enumerate(drawn):
        of_step = PenMixture(*(part[t] for part in expected))
        torch.testing.assert_close(of_step.draw_points(generator), point, rtol=1e-9, atol=1e-10)


def test_writing_stops_at_the_end_of_the_text() -> None:
    """The window of this network moves by a character per step, so it is beyond three characters at step four."""
    model = handwriting().double().eval()
    with torch.no_grad():
        for parameter in model.window.parameters():
            parameter.zero_()
    steps = list(model.write(text([3, 3, 3]), torch.zeros(3), torch.Generator().manual_seed(0), most=50))
    assert len(steps) == 4
    longer = list(model.write(text([3, 4, 3]), torch.zeros(3), torch.Generator().manual_seed(0), most=50))
    assert len(longer) == 5


def test_method_over_whole_sequences_is_refused() -> None:
    misfit = METHODS["sequence_batch_norm"].model_validate({"method": "sequence_batch_norm"}).misfit(SMALL)
    assert misfit is not None
    assert "handwriting makes its inputs as it goes" in misfit.message


def test_initial_speed_of_the_window_is_the_option() -> None:
    plain, slow = (handwriting(options=SMALL.model_copy(update={"advance": to})).double() for to in (1.0, 0.04))
    with torch.no_grad():
        first, second = (model.windows(points(), ALL, text())[0] for model in (plain, slow))
    torch.testing.assert_close(second.position, 0.04 * first.position)
    torch.testing.assert_close(slow.window.bias[:-2], plain.window.bias[:-2], rtol=0, atol=0)
