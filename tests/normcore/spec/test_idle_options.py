"""An option that a method calls idle in a model changes nothing there. Every other option changes something."""

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Any

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor, nn

from normcore import cells, norms
from normcore.events import Measured
from normcore.norms.normalization import Normalization
from normcore.norms.population import population_statistics, wants_population
from normcore.recurrent.unroll import take_in_moments, unroll
from normcore.spec import ExperimentSpec, InvalidSpec, TrainingSpec, resolve
from normcore.spec.cells import CELLS
from normcore.spec.methods import METHODS
from normcore.spec.methods.layer_norm import LayerNorm
from normcore.spec.methods.method import Method
from normcore.spec.models.model import Model
from normcore.spec.part import Misfit
from normcore.training.loop import train
from tests.normcore.models.test_contract import OTHERS, made, options_of, outputs
from tests.normcore.norms.lines_to_write import CHANNELS, erases
from tests.normcore.norms.lines_to_write import idle as lines_of_idle
from tests.normcore.spec.test_fingerprints import other_values
from tests.normcore.training_specs import training_spec

TASKS = ("feedforward", "convnet")


def short(task: str, method: str) -> TrainingSpec:
    training: dict[str, Any] = {"max_steps": 3, "eval_every": 3}
    if task == "convnet":
        training["schedule"] = None  # it starts after the last of these steps
    return training_spec({"task": {"name": task, "profile": "smoke"}, "norm": {"method": method}, "training": training})


def model_of(task: str) -> Model:
    return short(task, "none").model


CASES = [
    (task, tag, option)
    for task in TASKS
    for tag, method in METHODS.items()
    if method.fits(type(model_of(task)))
    for option in sorted(short(task, tag).norm.idle(model_of(task)))
]
IN_CELLS: list[tuple[str, dict[str, Any], str, Any]] = [
    ("lstm", {"affine": False}, "gain_init", 0.5),
    ("lstm", {"sites": ("cell",)}, "scope", "per_gate"),
    ("lstm", {"sites": ("recurrent", "cell")}, "bias", "inside"),
    ("lstm", {}, "conv_gain", "per_channel"),
    ("lstm", {"sites": ()}, "eps", 0.1),
    ("gru", {"sites": ("recurrent",)}, "bias", "outside"),
    ("rnn", {"sites": ("sum",)}, "scope", "per_gate"),
]
"""Options of layer norm that are idle beside these."""


def curves(spec: TrainingSpec, **options: Any) -> list[dict[str, float]]:
    changed = spec.model_copy(update={"norm": spec.norm.model_copy(update=options)})
    return [dict(event.values) for event in train(changed, 0) if isinstance(event, Measured)]


@cache
def usual_curves(task: str, method: str) -> list[dict[str, float]]:
    return curves(short(task, method))


@pytest.mark.parametrize(("task", "method", "option"), CASES)
def test_an_idle_option_changes_nothing(task: str, method: str, option: str) -> None:
    spec, usual = short(task, method), usual_curves(task, method)
    value = getattr(spec.norm, option)
    others = [other for other in other_values(option, METHODS[method].model_fields[option], value) if other != value]
    assert others
    for other in others[:2]:
        assert curves(spec, **{option: other}) == usual


def steps(cell: str, options: dict[str, Any]) -> Tensor:
    """Compute the outputs of a cell with layer norm for a sequence."""
    torch.default_generator.manual_seed(0)
    model = CELLS.validate({"cell": cell, "hidden_size": 5})
    norm = LayerNorm.model_validate({**LayerNorm.defaults(CELLS[cell]), **options})
    built: Any = cells.build(model, 3, norms.build(norm))
    torch.nn.init.normal_(built.bias)
    return unroll(built, torch.randn(4, 2, 3), built.initial_state(2)).y


@pytest.mark.parametrize(("cell", "beside", "option", "value"), IN_CELLS)
def test_an_idle_option_of_a_cell_changes_nothing_and_is_refused(
    cell: str, beside: dict[str, Any], option: str, value: Any
) -> None:
    usual, changed = (
        LayerNorm.model_validate({**LayerNorm.defaults(CELLS[cell]), **o}) for o in (beside, {**beside, option: value})
    )
    assert torch.equal(steps(cell, beside), steps(cell, {**beside, option: value}))
    assert usual.pointless(CELLS.validate({"cell": cell})) is None
    misfit = changed.pointless(CELLS.validate({"cell": cell}))
    assert misfit is not None
    assert misfit.field == option


@pytest.mark.parametrize(
    ("cell", "beside", "option", "value"),
    [
        ("lstm", {"sites": ("sum",)}, "scope", "per_gate"),
        ("lstm", {"sites": ("input",)}, "bias", "inside"),
        ("lstm", {"sites": ("sum",)}, "bias", "both"),
        ("lstm", {"sites": ()}, "bias", "both"),
        ("lstm", {"sites": ()}, "bias_init", 0.5),
    ],
)
def test_option_of_a_cell_that_is_not_idle_changes_the_outputs(
    cell: str, beside: dict[str, Any], option: str, value: Any
) -> None:
    assert not torch.equal(steps(cell, beside), steps(cell, {**beside, option: value}))
    changed = LayerNorm.model_validate({**LayerNorm.defaults(CELLS[cell]), **beside, option: value})
    assert changed.pointless(CELLS.validate({"cell": cell})) is None


def traced(cell: str, method: str, options: dict[str, Any]) -> list[Tensor]:
    """Compute the outputs of a cell in training and in evaluation, beside the sizes of its parameters."""
    torch.default_generator.manual_seed(0)
    options = {"method": method, **METHODS[method].defaults(CELLS[cell]), **options}
    norm = norms.build(METHODS.validate(options))
    built: Any = cells.build(CELLS.validate({"cell": cell, "hidden_size": 5}), 3, norm)
    with torch.no_grad():
        for parameter in built.parameters():
            parameter += 0.3 * torch.randn(parameter.shape)
    sizes = torch.tensor([parameter.numel() for parameter in built.parameters()])
    trained = []
    for _ in range(3):
        x = torch.randn(4, 6, 3)
        unrolled = unroll(built, x, built.initial_state(6))
        take_in_moments(built, unrolled.moments)
        trained.append(unrolled.y)
    with suppress(ValueError):  # statistics of the population are not known without a training
        return [sizes, *trained, unroll(built.eval(), x, built.initial_state(6)).y]
    return [sizes, *trained]


def in_layer(task: str, method: str, options: dict[str, Any]) -> list[Tensor]:
    """Compute the outputs of a layer's norm in training and in evaluation, beside the sizes of its parameters."""
    torch.default_generator.manual_seed(0)
    written = METHODS.validate({"method": method, **METHODS[method].defaults(type(model_of(task))), **options})
    norm, shape = norms.build(written), (32,) if task == "feedforward" else (32, 2, 3)
    layer = nn.Linear(3, 32)
    norm.parametrize(layer, "weight")
    built = norm.layer(shape) if written.stands_at("layer") else nn.Identity()
    sizes = torch.tensor([parameter.numel() for parameter in [*layer.parameters(), *built.parameters()]])
    trained = [built(1 + torch.randn(6, *shape)) for _ in range(3)]
    with suppress(ValueError):  # statistics of the population are not known without a training
        return [sizes, layer.weight, *trained, built.eval()(torch.ones(6, *shape))]
    return [sizes, layer.weight, *trained]


def in_model(model: Model, method: str, options: dict[str, Any]) -> list[Tensor]:
    """Compute the outputs of a model in training and in evaluation, beside the sizes of its parameters."""
    norm = METHODS.validate({"method": method, **METHODS[method].defaults(type(model)), **options})
    if misfit := norm.misfit(model):
        raise ValueError(misfit.message)
    network = made(model, norm)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(torch.randn(parameter.shape), alpha=0.3)
        sizes = torch.tensor([parameter.numel() for parameter in network.parameters()])
        with norms.build(norm).initialize_in_first_pass(network):
            outputs(model, network)
        trained = outputs(model, network)
        for parameter in network.parameters():
            parameter.mul_(1.1)  # so that a pass collects other statistics than the training
        network.eval()
        if wants_population(network):
            with population_statistics(network):
                outputs(model, network)
        return [sizes, trained, outputs(model, network)]


def without_effect(compute: Callable[[dict[str, Any]], list[Tensor]], usual: Any) -> set[str]:
    """Find the options of a method of which no other value changes what is computed. Options that allow no other value
    are left out."""
    before, options = compute({}), type(usual).model_fields.keys() - {"method"}
    return {option for option in options if not changes(compute, before, usual, option)}


def changes(compute: Callable[[dict[str, Any]], list[Tensor]], before: list[Tensor], usual: Any, option: str) -> bool:
    value, allowed = getattr(usual, option), 0
    for other in other_values(option, type(usual).model_fields[option], value):
        try:
            found = compute({option: other})
        except (ValidationError, ValueError):
            continue
        allowed += other != value
        if len(found) != len(before) or not all(map(torch.equal, found, before)):
            return True
    return not allowed


OF_TRAININGS = {
    "recurrent_batch_norm": {"statistics", "initial_state_noise"},
    "weight_norm": {"init"},
}
"""Options that change nothing in a cell's pass, but in the training or evaluation around it."""
IDLE_BESIDE_OTHERS = {("draw", "layer_norm"): {"bias"}}
"""Options of which one value changes something, and is not idle: ``both`` adds the bias at two places."""


@pytest.mark.parametrize(
    ("cell", "method"),
    [(cell, method) for cell in CELLS for method, kind in METHODS.items() if kind.fits(CELLS[cell])],
)
def test_a_method_names_each_option_that_changes_nothing_in_a_cell(cell: str, method: str) -> None:
    usual = METHODS.validate({"method": method, **METHODS[method].defaults(CELLS[cell])})
    idle = usual.idle(CELLS.validate({"cell": cell}))
    found = without_effect(lambda options: traced(cell, method, options), usual)
    assert found == idle | OF_TRAININGS.get(method, set()), lines_of_idle(METHODS[method], found)


@pytest.mark.parametrize(
    ("model", "method"),
    [
        (model, method)
        for model in OTHERS
        for method, kind in METHODS.items()
        if (cell := options_of(model).cell_kind()) and kind.fits(cell) and kind.fits(type(options_of(model)))
    ],
)
def test_a_method_names_each_option_that_changes_nothing_in_a_model_with_cells(model: str, method: str) -> None:
    options = options_of(model)
    usual = METHODS.validate({"method": method, **METHODS[method].defaults(type(options))})
    found = without_effect(lambda changed: in_model(options, method, changed), usual)
    idle = usual.idle(options) - IDLE_BESIDE_OTHERS.get((model, method), set())
    assert found == idle, lines_of_idle(METHODS[method], found)


def test_running_averages_are_idle_beside_a_layer_whose_statistics_need_a_pass() -> None:
    model, sites = options_of("attentive_reader"), ("input", "recurrent", "layer")
    by_pass, running = (
        in_model(model, "recurrent_batch_norm", {"sites": sites, **options})
        for options in ({}, {"population": "running", "momentum": 0.5})
    )
    assert all(map(torch.equal, by_pass, running))
    norm = METHODS.validate({"method": "recurrent_batch_norm", "sites": sites, "population": "running"})
    assert {"population", "momentum"} <= norm.idle(model)
    assert norm.pointless(model) == Misfit(
        "population", "with the other options it changes nothing in attentive_reader; use pass"
    )


@pytest.mark.parametrize(
    ("task", "method"),
    [(task, method) for task in TASKS for method, kind in METHODS.items() if kind.fits(type(model_of(task)))],
)
def test_a_method_names_each_option_that_changes_nothing_in_a_layer(task: str, method: str) -> None:
    usual = METHODS.validate({"method": method, **METHODS[method].defaults(type(model_of(task)))})
    found = without_effect(lambda options: in_layer(task, method, options), usual)
    known = usual.idle(model_of(task)) | OF_TRAININGS.get(method, set())
    assert found == known, lines_of_idle(METHODS[method], found)


@pytest.mark.parametrize("method", [tag for tag, kind in METHODS.items() if "layer" in kind.takes])
def test_a_method_says_where_it_leaves_nothing_of_single_numbers(method: str) -> None:
    """``groups: 2`` divides the channels of group norm."""

    def options(channels: int) -> Method:
        groups = {"groups": min(2, channels)} if method == "group_norm" else {}
        return METHODS.validate({"method": method, **groups})

    hold_erases_against_outputs(options, norms.build)


def hold_erases_against_outputs(options: Callable[[int], Method], make: Callable[[Any], Normalization]) -> None:
    """Check ``erases`` with layers of single numbers, for options that may depend on the number of channels."""
    generator = torch.Generator().manual_seed(0)

    def is_erased(channels: int) -> bool:
        outputs = make(options(channels)).layer((channels, 1, 1))(torch.randn(5, channels, 1, 1, generator=generator))
        return bool(outputs.abs().max().item() < 1e-3)  # rounding is left

    found = [channels for channels in CHANNELS if is_erased(channels)]
    said = [channels for channels in CHANNELS if options(channels).erases(channels)]
    kind = type(options(1))
    assert said == found, f"only zeros are left with {found} of {CHANNELS} channels; {erases(kind, found)}"


@pytest.mark.parametrize(("cell", "gates"), [("lstm", ["i", "f", "o"]), ("gru", ["r", "z"])])
def test_identity_gates_change_only_an_identity_and_neither_order_nor_repeats_make_another_training(
    cell: str, gates: list[str]
) -> None:
    def trained(**options: Any) -> ExperimentSpec:
        task = {"name": "permuted_digits", "profile": "smoke"}
        return resolve({"task": task, "norm": {"method": "none"}, "model": {"cell": cell, **options}})

    identity = {"recurrent_init": "identity"}
    usual, chosen = trained(**identity), trained(**identity, identity_gates=gates)
    assert chosen.fingerprint() == trained(**identity, identity_gates=gates[::-1]).fingerprint() != usual.fingerprint()
    assert chosen.canonical()["model"]["identity_gates"] == gates
    for wrong, options, told in (
        ("duplicate", {**identity, "identity_gates": [*gates, gates[0]]}, "give every gate once"),
        ("too_long", {**identity, "identity_gates": gates * 100}, "or fewer"),
        ("pointless", {"identity_gates": gates}, 'write "recurrent_init": "identity" beside it, or remove it'),
        (
            "pointless",
            {**identity, "identity_gates": []},
            'write "recurrent_init": "orthogonal" and remove identity_gates',
        ),
    ):
        with pytest.raises(InvalidSpec) as caught:
            trained(**options)
        [error] = caught.value.errors
        assert (error.loc, error.type) == (("model", "identity_gates"), wrong)
        assert told in error.msg
