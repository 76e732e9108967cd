"""Contract between cells and methods.

A cell calls each norm at its place with all arguments, and treats biases and matrices as the method wants. Otherwise a
method could have no effect, and no other test would notice.
"""

import inspect
import re
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from normcore import cells
from normcore.cells.cell import RecurrentCell
from normcore.norms.normalization import (
    BiasPlace,
    Normalization,
    Size,
    normalized_product,
    normalized_sum,
    size_of_products,
)
from normcore.spec.cells import CELLS
from normcore.spec.models.model import Place
from normcore.spec.models.recurrent import RecurrentModel
from normcore.spec.plug_ins.errors import CannotRun
from tests.documents import recipes

FIRST, STEPS, BATCH, INPUTS, HIDDEN = 2, 3, 5, 4, 6
MASK = torch.arange(STEPS).unsqueeze(1) < torch.tensor([3, 1, 2, 3, 3])

Make = Callable[[RecurrentModel, int, Normalization], Any]


class Call:
    """Arguments of one call of a norm."""

    def __init__(self, a: Tensor, t: int, mask: Tensor | None, size: Size | None) -> None:
        self.a, self.t, self.mask = a.detach(), t, mask
        self.size = None if size is None else size()


class NormSpy(nn.Module):
    """Norm that multiplies by a factor and records its calls."""

    def __init__(self, features: int, factor: float) -> None:
        super().__init__()
        self.features, self.factor = features, factor
        self.calls: list[Call] = []

    def forward(self, a: Tensor, t: int, mask: Tensor | None = None, size: Size | None = None) -> Tensor:
        self.calls.append(Call(a, t, mask, size))
        return self.factor * a


class Spy(Normalization):
    """Method that acts at one site, and records what the cell does with it.

    Args:
        which: number of the norm at the site that has the factor; None if all norms have it.
    """

    def __init__(
        self,
        site: Place,
        factor: float = 1.0,
        bias: BiasPlace = "outside",
        which: int | None = None,
        **answers: Any,
    ) -> None:
        self.site, self.factor, self.bias, self.which = site, factor, bias, which
        self.spied: list[NormSpy] = []
        self.parametrized: list[str] = []
        vars(self).update(answers)

    def norm(self, hidden_size: int, site: Place, blocks: tuple[int, ...] = (1,)) -> nn.Module:
        if site != self.site:
            return super().norm(hidden_size, site)
        factor = self.factor if self.which in (None, len(self.spied)) else 1.0
        self.spied.append(NormSpy(hidden_size * sum(blocks), factor))
        return self.spied[-1]

    def parametrize(self, module: nn.Module, *matrices: str) -> None:
        self.parametrized += matrices


class CellWithSpy:
    """Cell with a spy, after some steps."""

    def __init__(self, make: Make, kind: type[RecurrentModel], norm: Spy, added_bias: float = 0.0) -> None:
        torch.default_generator.manual_seed(0)
        self.cell = make(kind.model_validate({"cell": CELLS.tag_of(kind), "hidden_size": HIDDEN}), INPUTS, norm)
        with torch.no_grad():
            for bias in self.biases.values():
                bias += added_bias
        x = torch.randn(STEPS, BATCH, INPUTS, generator=torch.Generator().manual_seed(1))
        terms = self.cell.input_term(x, FIRST, MASK)
        self.states = [self.cell.initial_state(BATCH)]
        for t in range(STEPS):
            self.states.append(self.cell.step(terms[t], self.states[-1], FIRST + t))
        self.spied = norm.spied

    @property
    def biases(self) -> dict[str, Tensor]:
        return {name: p for name, p in self.cell.named_parameters() if name.startswith("bias")}

    @property
    def matrices(self) -> set[str]:
        return {name for name, p in self.cell.named_parameters() if p.dim() == 2}

    def ends_as(self, other: "CellWithSpy") -> bool:
        return all(torch.equal(ours, theirs) for ours, theirs in zip(self.states[-1], other.states[-1], strict=True))

    def was_told_as(self, other: "CellWithSpy") -> bool:
        """Compare the summed inputs of the first call. In later calls a bias is also contained in the state."""
        ours, theirs = ([call.a for spied in one.spied for call in spied.calls[:1]] for one in (self, other))
        return all(torch.equal(a, b) for a, b in zip(ours, theirs, strict=True))


def forgotten(make: Make, kind: type[RecurrentModel]) -> Iterator[str]:
    """Find the duties to a method that a cell neglects, in training and in evaluation."""
    yield from forgotten_in_mode(make, kind)
    for duty in forgotten_in_mode(lambda *arguments: make(*arguments).eval(), kind):
        yield f"in evaluation: {duty}"


def forgotten_in_mode(make: Make, kind: type[RecurrentModel]) -> Iterator[str]:
    """Find the duties to a method that a cell neglects, in the mode in which ``make`` leaves the cell."""
    for site in sorted(kind.places):
        unrolled = CellWithSpy(make, kind, Spy(site))
        if not unrolled.spied:
            yield f"{site}: no norm is made"
        for k, spied in enumerate(unrolled.spied):
            yield from wrong_calls(site, spied)
            if site == "sum":
                yield from wrong_sizes(unrolled, spied)
            if unrolled.ends_as(CellWithSpy(make, kind, Spy(site, factor=3.0, which=k))):
                yield f"{site}: the output of norm {k} is not used"
    yield from wrong_biases(make, kind)
    spy = Spy("input")
    missing = CellWithSpy(make, kind, spy).matrices - set(spy.parametrized)
    if missing:
        yield f"parametrize: not called for {missing}"
    if "cell" in kind.places:
        carried, kept = (
            CellWithSpy(make, kind, Spy("cell", factor=3.0, carries_normalized_cell=carries))
            for carries in (True, False)
        )
        if carried.ends_as(kept):
            yield "carries_normalized_cell: it changes nothing"


def wrong_calls(site: Place, spied: NormSpy) -> Iterator[str]:
    times = [FIRST] if site == "input" else [FIRST + t for t in range(STEPS)]
    if [call.t for call in spied.calls] != times:
        yield f"{site}: called at {[call.t for call in spied.calls]}, not at {times}"
    for call in spied.calls:
        if call.a.shape[-1] != spied.features:
            yield f"{site}: {spied.features} features were asked for, and {call.a.shape[-1]} came"
        if site == "input" and call.mask is not MASK:
            yield "input: the mask is missing"
        if site != "cell" and call.size is None:
            yield f"{site}: the size of the products is missing"
        if (
            site in ("input", "recurrent")
            and call.size is not None
            and (call.size < 0.99 * call.a.abs().amax(-2)).any()
        ):
            yield f"{site}: the products are larger than their size"


def wrong_sizes(unrolled: CellWithSpy, spied: NormSpy) -> Iterator[str]:
    """Check that the size of a sum is that of its recurrent product, which is the only part that the norm may round."""
    for call, state in zip(spied.calls, unrolled.states, strict=False):
        if call.size is not None and not torch.equal(call.size, size_of_products(unrolled.cell.weight_hh, state.h)()):
            yield "sum: the size is not that of the recurrent product"


def wrong_biases(make: Make, kind: type[RecurrentModel]) -> Iterator[str]:
    """Check that the bias is before the norm of the input or the sum, or after it, or both.

    The norm gives 0 here, so only a bias outside of the norm has an effect.
    """
    places: tuple[BiasPlace, ...] = ("outside", "inside", "both")
    for site in sorted(kind.places & {"input", "sum"}):
        for place in places:
            usual, moved = (CellWithSpy(make, kind, Spy(site, 0.0, place), added) for added in (0.0, 1.0))
            if usual.was_told_as(moved) != (place == "outside"):
                yield f"bias {place}: wrong before the norm of the {site}"
            if usual.ends_as(moved) != (place == "inside"):
                yield f"bias {place}: wrong after the norm of the {site}"
    narrow, wide = (CellWithSpy(make, kind, Spy("input", bias_init=width)).biases for width in (0.0, 0.5))
    if any(torch.equal(narrow[name], wide[name]) for name in narrow):
        yield "bias_init: the bias is not spread"


# Habits that a method needs: the function or class with the habit (None: the cell), its code, and code without it.
HABITS: dict[str, tuple[Any, str, str]] = {
    "norm of the input": (
        RecurrentCell,
        r"normalized_product\(self.*\)$",
        "nn.functional.linear(x, self.weight_ih, inner)",
    ),
    "place of the input": (RecurrentCell, r'"input"', '"recurrent"'),
    "blocks of the input": (RecurrentCell, r", blocks=blocks\)", ")"),
    "mask": (RecurrentCell, r"x, t, mask, inner\)", "x, t, None, inner)"),
    "t of the input": (RecurrentCell, r"x, t, mask, inner\)", "x, 0, mask, inner)"),
    "inner bias": (RecurrentCell, r"mask, inner\)", "mask)"),
    "outer bias": (RecurrentCell, r"else a \+ self\.bias$", "else a"),
    "bias outside": (RecurrentCell, r"norm\.bias$", '"inside"'),
    "bias inside": (RecurrentCell, r"norm\.bias$", '"outside"'),
    "bias_init": (RecurrentCell, r"norm\.bias_init", "0.0"),
    "norm of a product": (normalized_product, r"= norm\((functional\.linear\(.*?\)), t,.*\)$", r"= \1"),
    "evaluation of a product": (
        normalized_product,
        r"= (norm\((functional\.linear\(.*?\)), t,.*\))$",
        r"= \1 if norm.training else \2",
    ),
    "t of a product": (normalized_product, r"bias\), t,", "bias), 0,"),
    "mask of a product": (normalized_product, r"t, mask, size_of", "t, None, size_of"),
    "size of a product": (normalized_product, r", size_of_products\(weight, x\)", ""),
    "bias of a product": (normalized_product, r"linear\(x, weight, bias\)", "linear(x, weight)"),
    "norm of a sum": (normalized_sum, r"= norm\(a, t, size.*\)", "= a"),
    "evaluation of a sum": (normalized_sum, r"= (norm\(a, t, size.*\))", r"= \1 if norm.training else a"),
    "t of a sum": (normalized_sum, r"norm\(a, t, size", "norm(a, 0, size"),
    "size of a sum": (normalized_sum, r", size=size_of_products\(weight, h\)", ""),
    "size of the recurrent product in a sum": (None, r"(normalized_sum\(.*), ((?:state\.)?h), t\)", r"\1, 0 * \2, t)"),
    "parametrize": (cells._parametrize, r"norm\.parametrize\(.*\)$", "pass"),
    "parametrize one matrix": (cells._parametrize, r"matrix\.dim\(\) != 2", 'name != "weight_ih"'),
    "norm of the recurrent term": (
        None,
        r"normalized_product\(self\.norm_h, self\.weight_hh, ((?:state\.)?h), t\)",
        r"\1 @ self.weight_hh.T",
    ),
    "evaluation of the recurrent term": (
        None,
        r"(normalized_product\(self\.norm_h, self\.weight_hh, ((?:state\.)?h), t\))",
        r"(\1 if self.training else \2 @ self.weight_hh.T)",
    ),
    "t of the recurrent term": (None, r"(normalized_product\(self\.norm_h, .*?), t\)", r"\1, 0)"),
    "t of the sum": (None, r"(normalized_sum\(.*?), t\)", r"\1, 0)"),
    "norm of the cell": (None, r"self\.norm_c\(c, t\)", "c"),
    "evaluation of the cell": (None, r"(self\.norm_c\(c, t\))", r"(\1 if self.training else c)"),
    "t of the cell": (None, r"self\.norm_c\(c, t\)", "self.norm_c(c, 0)"),
    "blocks of the recurrent term": (None, r'"recurrent", blocks=\(.*?\)\)', '"recurrent")'),
    "blocks of the sum": (None, r'"sum", blocks=\(.*?\)\)', '"sum")'),
    "outer bias of the cell": (None, r"self\.add_outer_bias\((.*)\)$", r"(\1)"),
    "outer bias after the tanh's argument": (None, r"tanh\(self\.add_outer_bias\(a\)\)", "tanh(a)"),
    "carry": (None, r"norm\.carries_normalized_cell", "False"),
}


def cell_of(cell: str) -> Any:
    return CELLS.implementation(CELLS.validate({"cell": cell}))


def classes_of(cell: str) -> list[Any]:
    """Return the class of a cell, after the classes of cells that it derives from."""
    return [kind for kind in reversed(cell_of(cell).mro()) if issubclass(kind, RecurrentCell) and kind != RecurrentCell]


def source_of(cell: str) -> str:
    return "".join(map(inspect.getsource, classes_of(cell)))


def without(cell: str, habit: str) -> Make:
    """Return ``build`` for the cell, made from source code that lacks a habit."""
    forgetting, pattern, instead = HABITS[habit]
    made: dict[str, Any] = {}
    for part in (normalized_product, normalized_sum, RecurrentCell, *classes_of(cell), cells._parametrize, cells.build):
        source = inspect.getsource(part)
        if part is forgetting or (forgetting is None and part in classes_of(cell)):
            source = re.sub(pattern, instead, source, flags=re.MULTILINE)
        names = {**vars(inspect.getmodule(part)), **made}
        names["CELLS"] = SimpleNamespace(implementation=lambda _: made[cell_of(cell).__name__], tag_of=CELLS.tag_of)
        exec(source, names)
        made[part.__name__] = names[part.__name__]
    build: Make = made["build"]
    return build


FORGETFUL = [
    (cell, habit)
    for cell in CELLS.ours
    for habit, (part, pattern, _) in HABITS.items()
    if re.search(pattern, inspect.getsource(part) if part else source_of(cell), re.MULTILINE)
]
# A GRU does not normalize the sum. An RNN has one block, which is the default.
FORGETFUL = [
    (cell, habit)
    for cell, habit in FORGETFUL
    if ("sum" in CELLS[cell].places or "a sum" not in habit) and (cell, habit) != ("rnn", "blocks of the input")
]


@pytest.mark.parametrize("cell", CELLS)
def test_cell_neglects_no_duty_to_a_method(cell: str) -> None:
    assert list(forgotten(cells.build, CELLS[cell])) == []


@pytest.mark.parametrize(("cell", "habit"), FORGETFUL)
def test_contract_finds_a_cell_that_neglects_a_duty(cell: str, habit: str) -> None:
    if habit == "place of the input" or habit.startswith("norm of"):
        told = "asks for no norm at input" if habit == "place of the input" else "does not call it in two steps"
        with pytest.raises(CannotRun, match=told):
            list(forgotten(without(cell, habit), CELLS[cell]))
    else:
        assert list(forgotten(without(cell, habit), CELLS[cell]))


def test_every_habit_occurs_in_the_code_of_some_cell() -> None:
    assert {habit for _, habit in FORGETFUL} == set(HABITS)
    assert {cell for cell, _ in FORGETFUL} == set(CELLS.ours)


# The cell of docs/extend/cell.md has two norms at one place.
PRODUCT = "normalized_product(self.norm_n, u_n, f * state.h, t)"
NEGLECTED = {
    "the norm": (PRODUCT, "torch.nn.functional.linear(f * state.h, u_n)"),
    "t": (PRODUCT, PRODUCT.replace("t)", "0)")),
    "the size": (PRODUCT, "self.norm_n(torch.nn.functional.linear(f * state.h, u_n), t)"),
    "the place": ('"recurrent") for _ in "fn"', 'place) for place in ("recurrent", "input")'),
}


def mgu(before: str = "", after: str = "") -> tuple[Make, type[RecurrentModel]]:
    """Build the cell of the guide, with one part of its code replaced."""
    names: dict[str, Any] = {"__name__": "mgu", "torch": torch}
    exec(recipes()["normcore/spec/cells/mgu.py"], names)
    code = recipes()["normcore/cells/mgu.py"].replace("from normcore.spec.cells import mgu as spec", "")
    assert before in code
    kind = names["MGU"]
    names["spec"] = SimpleNamespace(MGU=kind)
    exec(code.replace(before, after) if before else code, names)

    def make(options: RecurrentModel, input_size: int, norm: Normalization) -> Any:
        cell = names["MGU"](options, input_size, norm)
        norm.parametrize(cell, "weight_ih", "weight_hh")
        return cell

    return make, kind


@pytest.mark.parametrize("duty", NEGLECTED)
def test_contract_finds_a_second_norm_at_a_place_that_is_neglected(duty: str) -> None:
    assert list(forgotten(*mgu())) == []
    assert list(forgotten(*mgu(*NEGLECTED[duty])))
