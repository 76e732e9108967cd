"""Contract of models: a method has an effect at every place where it can stand."""

import json
from collections import Counter
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.parametrize import is_parametrized

from normcore.models.attentive_reader import AttentiveReader
from normcore.models.build import Build
from normcore.models.conv_net import ConvNet
from normcore.models.draw import Draw
from normcore.models.feed_forward import FeedForward
from normcore.models.handwriting import Handwriting, Text
from normcore.models.layers import NormalizedLinear
from normcore.models.order_embedding import OrderEmbedding
from normcore.models.skip_thoughts import SkipThoughts
from normcore.models.words import Words
from normcore.norms.population import population_statistics
from normcore.recurrent import Recurrent
from normcore.spec.cells import CELLS
from normcore.spec.methods import METHODS
from normcore.spec.methods.method import Method
from normcore.spec.methods.none import NoNorm
from normcore.spec.models import MODELS
from normcore.spec.models.model import Model, Place


class Sample(NamedTuple):
    """Small model: the options in a spec, the network of these options, and its outputs for a batch of inputs."""

    options: dict[str, Any]
    network: Callable[[Build, Any], nn.Module]
    outputs: Callable[[Any], Tensor]


HIDDEN = {"hidden_size": 6}
READING = {**HIDDEN, "embedding_size": 4}
WORDS = Words.of([torch.arange(5), torch.arange(3), torch.arange(4)], torch.device("cpu"))
ALL = torch.tensor([4, 4, 4])
TEXT = Text(torch.rand(3, 4, 5), ALL)
OTHERS = {
    "attentive_reader": Sample(
        READING,
        lambda build, options: AttentiveReader(build, options, words=7),
        lambda network: network(WORDS, WORDS),
    ),
    "conv_net": Sample(
        {"stage_channels": [6, 6], "stage_depth": 1, "head_channels": 6},
        lambda build, options: ConvNet(build, options, (3, 12, 12), num_classes=3),
        lambda network: network(torch.rand(4, 3, 12, 12)),
    ),
    "draw": Sample(
        {**HIDDEN, "glimpses": 3},
        lambda build, options: Draw(build, options, side=8),
        lambda network: network(torch.rand(3, 8, 8)).canvas,
    ),
    "feed_forward": Sample(
        {"hidden_sizes": [6, 6]},
        lambda build, options: FeedForward(build, options, 5, num_classes=3),
        lambda network: network(torch.rand(4, 5)),
    ),
    "handwriting": Sample(
        HIDDEN,
        lambda build, options: Handwriting(build, options, kinds=5),
        lambda network: network(torch.rand(4, 3, 3), ALL, 4, TEXT),
    ),
    "order_embedding": Sample(
        READING,
        lambda build, options: OrderEmbedding(build, options, words=7, features=5),
        lambda network: torch.cat([network.embed_captions(WORDS), network.embed_images(torch.rand(3, 5))]),
    ),
    "skip_thoughts": Sample(
        READING,
        lambda build, options: SkipThoughts(build, options, words=7),
        lambda network: network(WORDS, WORDS, WORDS),
    ),
}


def options_of(model: str) -> Model:
    if model in CELLS:
        return CELLS.validate({"cell": model, **HIDDEN})
    return MODELS[model].model_validate_json(json.dumps(OTHERS[model].options))


def at(method: str, place: Place, model: Model) -> Method | None:
    """Options of the method at this place only, if the place can be chosen; None if they do not fit the model."""
    kind = METHODS[method]
    sites = {"sites": (place,)} if "sites" in kind.model_fields else {}
    groups = {"groups": 3} if "groups" in kind.model_fields else {}
    norm = kind.model_validate({"method": method, **kind.defaults(type(model)), **sites, **groups})
    return None if norm.misfit(model) else norm


def made(model: Model, norm: Method) -> nn.Module:
    torch.default_generator.manual_seed(0)
    build = Build(model, norm, "reference", torch.device("cpu"), torch.float32)
    cell = getattr(model, "cell", None)
    if cell is not None:
        return build.recurrent(model, 5)  # type: ignore[arg-type]
    return OTHERS[model.architecture].network(build, model)


def outputs(model: Model, network: Any) -> Tensor:
    torch.default_generator.manual_seed(1)
    if isinstance(network, Recurrent):
        y: Tensor = network(torch.rand(4, 3, 5))[0]
        return y
    return OTHERS[model.architecture].outputs(network)


def unused_parameters(network: nn.Module, found: Tensor) -> list[str]:
    """Names of the parameters of a network that its outputs do not depend on."""
    names, all_parameters = zip(*network.named_parameters(), strict=True)
    gradients = torch.autograd.grad(found.sum(), all_parameters, allow_unused=True)
    return [name for name, gradient in zip(names, gradients, strict=True) if gradient is None]


def parameters(network: nn.Module) -> set[tuple[str, torch.Size]]:
    return {(name, parameter.shape) for name, parameter in network.named_parameters()}


def copy_weights(source: nn.Module, target: nn.Module) -> None:
    """Copy the parameters that have the same name and shape in both networks."""
    ours = dict(target.named_parameters())
    with torch.no_grad():
        for name, parameter in source.named_parameters():
            if name in ours and ours[name].shape == parameter.shape:
                ours[name].copy_(parameter)


PLACED = [
    (method, model, place)
    for method in METHODS
    if method != "none"
    for model in (*CELLS, *OTHERS)
    for place in sorted(options_of(model).places & METHODS[method].takes)
    if at(method, place, options_of(model)) is not None
]


@pytest.mark.parametrize(("method", "model", "place"), PLACED)
def test_method_changes_a_model_at_every_place(method: str, model: str, place: Place) -> None:
    """A method with the weights of the baseline gives other outputs, in training and in evaluation. A parametrization
    may start as the baseline, but adds parameters. No parameter is without effect on the outputs."""
    options = options_of(model)
    norm = at(method, place, options)
    assert norm is not None
    plain, normalized = made(options, NoNorm()), made(options, norm)
    copy_weights(plain, normalized)
    adds = any(map(is_parametrized, normalized.modules())) and parameters(normalized) != parameters(plain)
    found = outputs(options, normalized)
    assert adds or not torch.equal(found, outputs(options, plain))
    assert unused_parameters(normalized, found) == []
    with torch.no_grad(), population_statistics(normalized.eval()):
        outputs(options, normalized)
    evaluated = outputs(options, normalized)
    assert adds or not torch.equal(evaluated, outputs(options, plain.eval()))
    assert unused_parameters(normalized, evaluated) == []


def test_a_norm_that_is_made_and_never_called_is_found() -> None:
    class Forgetful(NormalizedLinear):
        def forward(self, x: Tensor) -> Tensor:
            a: Tensor = self.linear(x)
            return a

    options = options_of("feed_forward")
    norm = at("layer_norm", "layer", options)
    assert norm is not None
    build = Build(options, norm, "reference", torch.device("cpu"), torch.float32)
    x = torch.rand(4, 5)
    layer, forgetful = NormalizedLinear(build, "layer", 5, 6), Forgetful(build, "layer", 5, 6)
    assert unused_parameters(layer, layer(x)) == []
    assert unused_parameters(forgetful, forgetful(x)) == ["norm.weight", "norm.bias"]


def test_every_model_and_method_is_tried() -> None:
    assert set(OTHERS) | {"recurrent"} == set(MODELS.ours)
    nowhere = {"query_key_norm"}  # no model has queries and keys yet
    assert {method for method, _, _ in PLACED} == set(METHODS) - {"none"} - nowhere


@pytest.mark.parametrize("model", OTHERS)
def test_every_layer_with_a_norm_is_parametrized(model: str) -> None:
    """A layer that forgets ``parametrize`` would train without the method, and other layers would hide that."""
    normalized, parametrized = Counter[str](), Counter[str]()

    class Counting(Build):
        def norm_at(self, place: Place, shape: tuple[int, ...]) -> nn.Module:
            normalized[place] += 1
            return super().norm_at(place, shape)

        def parametrize(self, place: Place, module: nn.Module, *matrices: str) -> None:
            assert all(module.get_parameter(matrix).dim() > 1 for matrix in matrices)
            parametrized[place] += len(matrices)

    options = options_of(model)
    OTHERS[model].network(Counting(options, NoNorm(), "reference", torch.device("cpu"), torch.float32), options)
    assert parametrized == normalized
    assert set(normalized) == options.places & {"layer", "output"}


def steps_of(cell: Any, run: Callable[[], object]) -> list[int]:
    """Numbers of the steps that a cell computes while ``run`` runs. The input's term must get the same numbers."""
    step, input_term = cell.step, cell.input_term
    seen, seen_by_term = list[int](), list[int]()

    def note_step(term: Tensor, state: Any, t: int) -> Any:
        seen.append(t)
        return step(term, state, t)

    def note_term(x: Tensor, t: int, *mask: Any) -> Tensor:
        seen_by_term.extend(range(t, t + len(x)))
        term: Tensor = input_term(x, t, *mask)
        return term

    cell.step, cell.input_term = note_step, note_term
    run()
    cell.step, cell.input_term = step, input_term
    assert seen_by_term == seen
    return seen


def test_cells_that_a_model_steps_by_itself_are_told_the_number_of_each_step() -> None:
    """Batch norm has statistics for each step, so a wrong number takes those of another step."""
    draw: Any = made(options_of("draw"), NoNorm())
    noise = torch.randn(3, 2, draw.options.latent_size)
    for cell in (draw.encoder, draw.decoder):
        assert steps_of(cell, lambda: draw(torch.rand(2, 8, 8), noise)) == [0, 1, 2]
    assert steps_of(draw.decoder, lambda: list(draw.generate(noise))) == [0, 1, 2]
    handwriting: Any = made(options_of("handwriting"), NoNorm())
    assert steps_of(handwriting.first, lambda: handwriting(torch.rand(4, 3, 3), ALL, 4, TEXT)) == [0, 1, 2, 3]
    written = handwriting.write(TEXT, torch.zeros(3), torch.Generator().manual_seed(0), most=3)
    assert steps_of(handwriting.first, lambda: list(written)) == [0, 1, 2]
