"""Costs in the catalogue equal those of the built models and those in the protocols."""

from typing import Any

import pytest
import torch

from normcore.models.build import Build
from normcore.models.classifier import SequenceClassifier
from normcore.models.conv_net import ConvNet
from normcore.models.feed_forward import FeedForward
from normcore.models.language_model import LanguageModel
from normcore.spec import TrainingSpec, resolve
from normcore.spec.cells import CELLS
from normcore.spec.models import conv_net, feed_forward
from normcore.spec.models.model import Cost
from normcore.spec.models.recurrent import RecurrentModel

CPU = torch.device("cpu")


def spec_of(task: dict[str, object], **parts: object) -> TrainingSpec:
    spec = resolve({"task": task, **parts})
    assert isinstance(spec, TrainingSpec)
    return spec


def cost_of(task: dict[str, object], **parts: object) -> Cost:
    spec = spec_of(task, **parts)
    cost = spec.task.cost(spec.model)
    assert cost is not None
    return cost


@pytest.mark.parametrize(
    ("task", "parameters", "flop"),
    [
        ({"name": "permuted_mnist"}, 42_110, 19e9),
        ({"name": "char_lm"}, 4_257_050, 162e9),
        ({"name": "feedforward"}, 1_796_010, 1.4e9),
        ({"name": "convnet"}, 1_406_794, 240e9),
    ],
)
def test_models_of_the_papers_cost_as_much_as_in_the_protocols(
    task: dict[str, object], parameters: int, flop: float
) -> None:
    task = {**task, "profile": "paper"}
    cost = cost_of(task)
    assert cost.parameters == parameters
    assert cost.flop_of_update(spec_of(task).training.batch_size) == pytest.approx(flop, rel=0.05)


def test_text8_model_has_as_many_parameters_as_in_the_paper() -> None:
    task = {"name": "char_lm", "corpus": "text8", "sequence_length": 180}
    cost = cost_of(task, model={"hidden_size": 2000})
    assert cost.parameters == 16_284_027
    assert cost.flop_of_update(128) == pytest.approx(2.2e12, rel=0.05)


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("cell", CELLS.ours)
def test_parameter_count_equals_that_of_the_built_network(cell: str, bidirectional: bool) -> None:
    parts = {"cell": cell, "hidden_size": 7, "num_layers": 2, "bidirectional": bidirectional}
    spec = spec_of({"name": "permuted_digits"}, model=parts)
    assert isinstance(spec.model, RecurrentModel)
    build = Build(spec.model, spec.norm, "auto", CPU, torch.float32)
    built = SequenceClassifier(build.recurrent(spec.model, 1), 10)
    cost = spec.task.cost(spec.model)
    assert cost is not None
    built_cell: Any = build.cell(spec.model, 1)
    of_cell = {name: tuple(parameter.shape) for name, parameter in built_cell.named_parameters()}
    off = (sum(p.numel() for p in built.parameters()) - cost.parameters) / (7 * 2 * (1 + bidirectional))
    told = f"own_parameters of {cell} lack {off:g} for each unit; a cell with 7 units and 1 input has {of_cell}"
    assert off == 0, told


def test_readout_of_a_language_model_counts_at_every_step() -> None:
    spec = spec_of({"name": "char_lm", "corpus": "ptb", "sequence_length": 5}, model={"hidden_size": 3})
    assert isinstance(spec.model, RecurrentModel)
    built = LanguageModel(Build(spec.model, spec.norm, "auto", CPU, torch.float32).recurrent(spec.model, 50), 50)
    cost = spec.task.cost(spec.model)
    assert cost is not None
    assert cost.parameters == sum(p.numel() for p in built.parameters())
    assert cost.products == 4 * (12 * (50 + 3) + 3 * 50)


def test_cost_of_a_network_of_layers_equals_that_of_the_built_network() -> None:
    for task, shape in (("feedforward", (1, 8, 8)), ("convnet", (1, 8, 8))):
        spec = spec_of({"name": task, "profile": "smoke"})
        build = Build(spec.model, spec.norm, "auto", CPU, torch.float32)
        if isinstance(spec.model, conv_net.ConvNet):
            built: torch.nn.Module = ConvNet(build, spec.model, shape, 10)
        else:
            assert isinstance(spec.model, feed_forward.FeedForward)
            built = FeedForward(build, spec.model, 64, 10)
        cost = spec.task.cost(spec.model)
        assert cost is not None
        assert cost.parameters == sum(p.numel() for p in built.parameters())
