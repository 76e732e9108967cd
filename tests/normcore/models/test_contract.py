"""Contract of models: a method has an effect at every place where it can stand."""

import json
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import nn

from normcore.models.attentive_reader import AttentiveReader
from normcore.models.build import Build
from normcore.models.conv_net import ConvNet
from normcore.models.draw import Draw
from normcore.models.feed_forward import FeedForward
from normcore.models.handwriting import Handwriting
from normcore.models.order_embedding import OrderEmbedding
from normcore.models.skip_thoughts import SkipThoughts
from normcore.spec.cells import CELLS
from normcore.spec.methods import METHODS
from normcore.spec.methods.method import Method
from normcore.spec.methods.none import NoNorm
from normcore.spec.models import MODELS
from normcore.spec.models.model import Model, Place

HIDDEN = {"hidden_size": 6}
READING = {**HIDDEN, "embedding_size": 4}
OTHERS: dict[str, tuple[dict[str, Any], Callable[[Build, Any], nn.Module]]] = {
    "attentive_reader": (READING, lambda build, options: AttentiveReader(build, options, words=7)),
    "conv_net": (
        {"stage_channels": [6, 6], "stage_depth": 1, "head_channels": 6},
        lambda build, options: ConvNet(build, options, (3, 12, 12), num_classes=3),
    ),
    "draw": (HIDDEN, lambda build, options: Draw(build, options, side=8)),
    "feed_forward": ({"hidden_sizes": [6, 6]}, lambda build, options: FeedForward(build, options, 5, num_classes=3)),
    "handwriting": (HIDDEN, lambda build, options: Handwriting(build, options, kinds=5)),
    "order_embedding": (READING, lambda build, options: OrderEmbedding(build, options, words=7, features=5)),
    "skip_thoughts": (READING, lambda build, options: SkipThoughts(build, options, words=7)),
}


def options_of(model: str) -> Model:
    if model in CELLS:
        return CELLS.validate({"cell": model, **HIDDEN})
    return MODELS[model].model_validate_json(json.dumps(OTHERS[model][0]))


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
    return OTHERS[model.architecture][1](build, model)


def parameters(network: nn.Module) -> set[tuple[str, torch.Size]]:
    return {(name, parameter.shape) for name, parameter in network.named_parameters()}


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
    """The change is seen in the parameters: the method adds some, or parametrizes matrices."""
    options = options_of(model)
    norm = at(method, place, options)
    assert norm is not None
    assert parameters(made(options, norm)) != parameters(made(options, NoNorm()))


def test_every_model_and_method_is_tried() -> None:
    assert set(OTHERS) | {"recurrent"} == set(MODELS.ours)
    nowhere = {"query_key_norm"}  # no model has queries and keys yet
    assert {method for method, _, _ in PLACED} == set(METHODS) - {"none"} - nowhere


@pytest.mark.parametrize("model", [model for model in OTHERS if options_of(model).places == {"layer", "output"}])
def test_every_matrix_of_layers_is_parametrized(model: str) -> None:
    """A layer that forgets ``parametrize`` would train without the method, and other layers would hide that."""
    asked: list[str] = []

    class Asking(Build):
        def parametrize(self, place: Place, module: nn.Module, *matrices: str) -> None:
            asked.extend(matrices)

    options = options_of(model)
    build = Asking(options, NoNorm(), "reference", torch.device("cpu"), torch.float32)
    network = OTHERS[model][1](build, options)
    assert len(asked) == sum(parameter.dim() > 1 for parameter in network.parameters())
