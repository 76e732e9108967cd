"""Contract between norms, their options and their callers.

A norm that breaks the contract would do less than its name says, and no other test would notice.
"""

import inspect
import re
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from types import ModuleType
from typing import Any, Literal, get_args, get_origin

import pytest
import torch
from pydantic import ValidationError
from torch import Tensor, nn

from normcore.norms.batch_statistics import BatchStatistics
from normcore.norms.none import NoNorm
from normcore.norms.normalization import Normalization
from normcore.norms.population import population_statistics
from normcore.spec.methods import METHODS
from normcore.spec.methods.method import Method
from normcore.spec.methods.none import NoNorm as NoOptions
from normcore.spec.models.feed_forward import FeedForward
from normcore.spec.models.model import PLACES, Place
from tests.normcore.norms.test_contract import LAYERS_OF

HIDDEN, STEPS, BATCH = 6, 4, 5
OF_CELLS: tuple[Place, ...] = ("input", "recurrent", "sum", "cell")
MASK = torch.arange(STEPS).unsqueeze(1) < torch.tensor([4, 1, 2, 3, 4])

Make = Callable[[Any], Normalization]


class PlacedNorm:
    """Module of a norm at one place, called with the arguments of that place."""

    def __init__(self, norm: Normalization, place: Place, shape: tuple[int, ...] = ()) -> None:
        torch.default_generator.manual_seed(0)
        self.place, self.shape = place, shape
        self.blocks = (1,) if place == "cell" else (2, 1)
        if place == "attention":
            self.module = norm.attention(HIDDEN)
        elif place in OF_CELLS:
            self.module = norm.norm(HIDDEN, place, self.blocks)
        else:
            self.module = norm.layer(shape)
        self.module.double()
        with torch.no_grad():
            for parameter in self.module.parameters():
                parameter.add_(0.3 * torch.randn_like(parameter))

    @property
    def a(self) -> Tensor:
        """Summed inputs, or queries and keys, where example 0 is so short that eps matters."""
        rows = {"attention": (3, BATCH, HIDDEN)}.get(self.place, (STEPS, BATCH, HIDDEN * sum(self.blocks)))
        shape = rows if self.place in (*OF_CELLS, "attention") else (BATCH, *self.shape)
        a = 1 + torch.randn(shape, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
        a[..., 0, :] *= 1e-8 if self.place == "attention" else 1
        return a

    def __call__(self, a: Tensor, t: int = 0, size: float = 1.0) -> Tensor:
        if self.place == "attention":
            return self.module(a[:2], a[2:])  # type: ignore[no-any-return]
        if self.place not in OF_CELLS:
            return self.module(a)  # type: ignore[no-any-return]
        told = None if self.place == "cell" else lambda: torch.full((a.shape[-1],), size, dtype=torch.float64)
        y: Tensor = self.module(a, t, MASK if self.place == "input" else None, told)
        moments = self.module.moments() if isinstance(self.module, BatchStatistics) else None
        if moments is not None:
            self.module.take_in(moments, t)  # type: ignore[operator]
        return y

    def everything(self) -> list[Tensor]:
        """Compute outputs and buffers of the norm, in training and in evaluation."""
        found = [self(self.a), self(10 * self.a + 3)]
        found += [buffer.clone() for buffer in self.module.buffers()]
        with torch.no_grad(), population_statistics(self.module):
            self(self.a)
        self.module.eval()
        return [*found, *self.module.buffers(), self(self.a), self(self.a, 1)]


def placed_norms(norm: Normalization, kind: type[Method], place: Place) -> list[PlacedNorm]:
    if place in ("layer", "output"):
        return [PlacedNorm(norm, place, shape) for method, shape in LAYERS_OF if METHODS[method] is kind]
    return [PlacedNorm(norm, place)]


def parametrized(norm: Normalization, options: Method) -> list[Tensor]:
    """Parameters of a layer, before and after an initialization from data."""
    torch.default_generator.manual_seed(0)
    layer = nn.Linear(4, HIDDEN)
    norm.parametrize(layer, "weight")
    before = [parameter.detach().clone() for parameter in layer.parameters()]
    with norm.initialize_in_first_pass(layer) if options.initializes_from_data else nullcontext():
        layer(torch.randn(7, 4))
    return [*before, *layer.parameters()]


def same(these: list[Any], others: list[Any]) -> bool:
    return len(these) == len(others) and all(
        a.shape == b.shape and torch.equal(a, b) if isinstance(a, Tensor) else a == b
        for a, b in zip(these, others, strict=True)
    )


def shown(make: Make, kind: type[Method], options: Method) -> list[Any]:
    """Everything observable of a method with these options."""
    norm = make(options)
    found: list[Any] = [norm.bias, norm.bias_init, norm.carries_normalized_cell, norm.initial_state_noise]
    found += parametrized(norm, options)
    for place in sorted(kind.takes):
        for placed in placed_norms(norm, kind, place):
            found += placed.everything()
    return found


def validated(kind: type[Method], options: dict[str, Any]) -> Method | None:
    groups = {"groups": 3} if "groups" in kind.model_fields else {}
    try:
        return kind.model_validate({"method": METHODS.tag_of(kind), **groups, **options})
    except ValidationError:
        return None


def alternatives(kind: type[Method], name: str) -> list[Any]:
    field = kind.model_fields[name]
    if name == "sites":
        return [(place,) for place in sorted(kind.takes)]
    if name == "groups":
        return [2]
    if get_origin(field.annotation) is Literal:
        return [value for value in get_args(field.annotation) if value != field.default]
    if field.annotation is bool:
        return [not field.default]
    return [field.default + 1 if field.annotation is int else 0.5 * field.default + 0.3]


def without_effect(make: Make, kind: type[Method]) -> Iterator[str]:
    """Find options without an observable effect, whatever the other options are."""
    layers_only = kind.takes.isdisjoint(OF_CELLS)  # then the model reads ``sites``, not the norm
    names = [name for name in kind.model_fields if name != "method" and not (name == "sites" and layers_only)]
    alone = [{name: value} for name in names for value in alternatives(kind, name)]
    waiting = {name: alternatives(kind, name) for name in names}
    known: dict[str, list[Any]] = {}

    def shown_once(options: Method) -> list[Any]:
        written = options.model_dump_json()
        if written not in known:
            known[written] = shown(make, kind, options)
        return known[written]

    for base in [{}, *alone]:
        for name in [name for name in waiting if name not in base]:
            before = validated(kind, base)
            for value in waiting[name]:
                after = validated(kind, {**base, name: value})
                if before and after and not same(shown_once(before), shown_once(after)):
                    del waiting[name]
                    break
    yield from (f"{name}: it changes nothing" for name in waiting)


def forgotten(make: Make, kind: type[Method]) -> Iterator[str]:
    """Find the duties to options and callers that a norm neglects. The search that takes longest comes last."""
    has_sites = "sites" in kind.model_fields
    switches = [
        {name: value}
        for name, field in kind.model_fields.items()
        if name != "method" and (field.annotation is bool or get_origin(field.annotation) is Literal)
        for value in alternatives(kind, name)
    ]
    for place in sorted(kind.takes, key=PLACES.index):
        for switch in [{}, *switches]:
            options = validated(kind, {"sites": (place,), **switch} if has_sites else switch)
            if options is not None:
                yield from wrong_at(place, make(options), kind, options)
    elsewhere = validated(kind, {"sites": ("layer",)} if has_sites else {})
    assert elsewhere is not None
    for place in OF_CELLS:
        if has_sites or place not in kind.takes:
            [ours], [theirs] = (placed_norms(norm, kind, place) for norm in (make(elsewhere), NoNorm(NoOptions())))
            if not same(ours.everything(), theirs.everything()):
                yield f"{place}: it stands there though it should not"
    yield from without_effect(make, kind)


def wrong_at(place: Place, norm: Normalization, kind: type[Method], options: Method) -> Iterator[str]:
    none = NoNorm(NoOptions())
    changes_weights = not same(parametrized(norm, options), parametrized(none, options))
    for placed, plain in zip(placed_norms(norm, kind, place), placed_norms(none, kind, place), strict=True):
        if kind is not NoOptions and not changes_weights and same(placed.everything(), plain.everything()):
            yield f"{place}: it is what stands there without a norm"
    for placed in placed_norms(norm, kind, place):
        a = placed.a.requires_grad_()
        y = placed(a)
        (y * torch.randn_like(y)).sum().backward()  # type: ignore[no-untyped-call]
        for name, parameter in placed.module.named_parameters():
            if parameter.grad is None or not parameter.grad.any():
                yield f"{place}: {name} changes nothing"
        placed.module.float()
        if kind is not NoOptions and placed(placed.a.bfloat16()).dtype != torch.bfloat16:
            yield f"{place}: it does not keep bfloat16"
    for placed in placed_norms(norm, kind, place):
        if isinstance(placed.module, BatchStatistics):
            yield from wrong_over_the_batch(placed, options)
        elif options.needs_batch(FeedForward()):
            yield f"{place}: it takes no statistics, though it says that it needs the batch"


def wrong_over_the_batch(placed: PlacedNorm, options: Method) -> Iterator[str]:
    place, a = placed.place, placed.a
    in_cell = place in OF_CELLS
    if in_cell and placed.module.get_buffer("running_mean").shape[1] != a.shape[-1]:
        yield f"{place}: its statistics have another size"
    per_step = getattr(options, "statistics", "per_step") == "per_step"
    by_steps = in_cell and per_step and not (options.whole_sequences and place == "input")
    first, second = ((..., k, slice(None)) if in_cell else (k,) for k in (0, 1))
    other = a.clone()
    other[second] += torch.randn_like(a[second])
    if torch.equal(placed(a)[first], placed(other)[first]):
        yield f"{place}: in training it does not see other examples"
    if place == "input" and options.whole_sequences:
        spoilt = a.masked_fill(~MASK.unsqueeze(2), 7.0)
        if not torch.equal(placed(a)[MASK], placed(spoilt)[MASK]):
            yield "input: it sees the padding"
    if by_steps and place != "cell" and "eps" in type(options).model_fields:
        constant = placed(a, size=1e30)
        if not torch.equal(constant, constant[:, :1].expand_as(constant)):
            yield f"{place}: it does not ask for the size of the products"
    placed.everything()
    if not torch.equal(placed(a)[first], placed(other)[first]):
        yield f"{place}: in evaluation it sees other examples"
    if by_steps and torch.equal(placed(a[0], 0), placed(a[0], 1)):
        yield f"{place}: the step changes nothing"


def norm_of(method: str) -> Any:
    options = validated(METHODS[method], {})
    assert options is not None
    return METHODS.implementation(options)


@pytest.mark.parametrize("method", METHODS)
def test_norm_neglects_no_duty_to_its_options_and_callers(method: str) -> None:
    assert list(forgotten(norm_of(method), METHODS[method])) == []


HABITS = {
    "everything": (r"^    def (norm|layer|attention|parametrize)\b", r"    def no_\1"),
    "norm": (r"^    def norm\b", "    def no_norm"),
    "layer": (r"^    def layer\b", "    def no_layer"),
    "attention": (r"^    def attention\b", "    def no_attention"),
    "parametrize": (r"parametrize\.register_parametrization\(.*\)", "pass"),
    "initialize_in_first_pass": (
        r"return initialize_in_first_pass\(model\)",
        "return super().initialize_in_first_pass(model)",
    ),
    "sites": (r"site not in options\.sites", "False"),
    "the one site": (r'site != "input"', "False"),
    "size of the host": (r"hidden_size \* sum\(blocks\)", "hidden_size"),
    "gain": (r"self\.weight \* | \* gain$", ""),
    "gain_init": (r"(self\.)?options\.gain_init", "1.5"),
    "alpha_init": (r"(self\.)?options\.alpha_init", "0.5"),
    "length": (r"(self\.)?options\.length", "4"),
    "eps": (r"(self\.)?options\.eps", "1e-5"),
    "affine": (r"(self\.)?options\.affine", "True"),
    "scope": (r'options\.scope == "joint"', "True"),
    "conv_gain": (r'self\.options\.conv_gain == "per_unit"', "True"),
    "groups": (r"self\.options\.groups, self", "3, self"),
    "variance": (r'self\.options\.variance == "unbiased"', "False"),
    "r_max": (r"(self\.)?options\.r_max", "3.0"),
    "d_max": (r"(self\.)?options\.d_max", "5.0"),
    "momentum": (r"options\.momentum\b", "0.01"),
    "population": (r'options\.population == "running"', "False"),
    "statistics": (r'options\.statistics == "per_step"', "True"),
    "input_statistics": (r'options\.input_statistics == "sequence"', "False"),
    "mean_only_batch_norm": (r"(not )?self\.options\.mean_only_batch_norm\b", r"\1False"),
    "bias": (r"self\.bias = options\.bias$", "pass"),
    "bias_init": (r"self\.bias_init = options\.bias_init", "pass"),
    "carry": (r"self\.carries_normalized_cell = .*", "pass"),
    "initial_state_noise": (r"self\.initial_state_noise = .*", "pass"),
    "shift": (r" \+ per_channel\(self\.bias, a\)", ""),
    "training": (r"if (not )?self\.takes_batch", r"if \1True"),
    "minibatch": (r"if (not )?self\.takes_batch", r"if \1False"),
    "step": (r"self\.(population|standardization)\(t, ", r"self.\1(0, "),
    "mask": (r"_statistics\(a, mask\)", "_statistics(a, None)"),
    "size of products": (r"_measure_spread\(a\.detach\(\), size\)", "_measure_spread(a.detach(), None)"),
    "moments": (r"self\.(saw|take_in)\(.*\)", "pass"),
    "dtype": (r"\.to\(a\.dtype\)$", ""),
    "dtype of logits": (r"\.to\((queries|vectors)\.dtype\)", ""),
}


def source_of(method: str) -> str:
    return inspect.getsource(inspect.getmodule(norm_of(method)))  # type: ignore[arg-type]


def without(method: str, habit: str) -> Make:
    """Build the class of a norm from source code that lacks a habit."""
    pattern, instead = HABITS[habit]
    module = ModuleType(f"forgetful_{method}")
    exec(re.sub(pattern, instead, source_of(method), flags=re.MULTILINE), vars(module))
    made: Make = getattr(module, norm_of(method).__name__)
    return made


WITH_HABITS = (
    "batch_norm",
    "batch_renorm",
    "dynamic_tanh",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "none",
    "query_key_norm",
    "recurrent_batch_norm",
    "rms_norm",
    "sequence_batch_norm",
    "weight_norm",
)
"""Methods that the contract is tried with. A new method need not be here: it may do without a habit in its code."""
FORGETFUL = [(m, h) for m in WITH_HABITS for h, (p, _) in HABITS.items() if re.search(p, source_of(m), re.MULTILINE)]


@pytest.mark.parametrize(("method", "habit"), FORGETFUL)
def test_contract_finds_a_norm_that_neglects_a_duty(method: str, habit: str) -> None:
    """The contract finds the fault in the outputs, or by an error when the norm is called."""
    try:
        found = next(forgotten(without(method, habit), METHODS[method]), "")
    except (RuntimeError, ValueError) as error:
        found = str(error)
    assert found


def test_every_habit_occurs_in_the_code_of_some_norm() -> None:
    assert {habit for _, habit in FORGETFUL} == set(HABITS)
