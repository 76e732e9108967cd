"""A cell or a method with the wrong interface is refused before training, with its class and what it lacks."""

from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.parametrizations import orthogonal

from normcore import cells, norms
from normcore.cells.cell import HiddenState, RecurrentCell
from normcore.norms.normalization import Identity, Normalization
from normcore.recurrent import Recurrent
from normcore.spec.cells.gru import GRU
from normcore.spec.cells.lstm import LSTM
from normcore.spec.methods.layer_norm import LayerNorm
from normcore.spec.methods.method import Method
from normcore.spec.methods.none import NoNorm
from normcore.spec.methods.weight_norm import WeightNorm
from normcore.spec.models.model import Place
from normcore.spec.plug_ins.errors import CannotRun


class Forward(nn.Module):
    """Module with the interface of torch's own cells."""

    def forward(self) -> None: ...

    def step(self) -> None: ...


class OldCell(GRU):
    home = f"{__name__}:Forward"


class OldMethod(LayerNorm):
    home = f"{__name__}:Forward"


def test_cell_with_the_wrong_interface_is_refused_with_what_it_lacks() -> None:
    with pytest.raises(CannotRun) as caught:
        cells.build(OldCell(hidden_size=3), 2, norms.build(NoNorm()))
    assert str(caught.value) == (
        f"gru: {__name__}.Forward has no initial_state and no input_term; a cell has def"
        " initial_state(self, batch_size), def input_term(self, x, t, mask=None), def step(self, term, state, t)"
    )


def test_method_that_is_not_a_normalization_is_refused_with_its_base_class() -> None:
    with pytest.raises(CannotRun) as caught:
        norms.build(OldMethod())
    base = f"{Normalization.__module__}.{Normalization.__qualname__}"
    assert str(caught.value) == f"layer_norm: {__name__}.Forward is no subclass of {base}, which says what to implement"


class Wrong(RecurrentCell):
    """Cell of the right shape, from which the wrong cells below derive."""

    def __init__(self, options: GRU, input_size: int, norm: Normalization) -> None:
        super().__init__(options, input_size, norm)
        self.norm_h = norm.norm(options.hidden_size, "recurrent")

    def step(self, term: Tensor, state: HiddenState, t: int) -> HiddenState:
        return HiddenState(self.norm_h(state.h, t))


class WithoutSizes(Wrong):
    def __init__(self, options: GRU) -> None: ...


class OfTorchsOrder(Wrong):
    def step(self, x: Tensor, state: HiddenState) -> HiddenState:  # type: ignore[override]
        return state


class WithoutMask(Wrong):
    def input_term(self, x: Tensor, t: int) -> Tensor:  # type: ignore[override]
        return x


class WithoutBatch(Wrong):
    def initial_state(self) -> HiddenState:  # type: ignore[override]
        return HiddenState(self.h0)


class OfATensor(Wrong):
    def initial_state(self, batch_size: int) -> Tensor:  # type: ignore[override]
        return self.h0.expand(batch_size, -1)


class StepsToATensor(Wrong):
    def step(self, term: Tensor, state: HiddenState, t: int) -> Tensor:  # type: ignore[override]
        return state.h


def cell_at(name: str) -> GRU:
    """Options of a cell that the class of this name implements."""
    kind = type("Options", (GRU,), {"home": f"{__name__}:{name}", "__module__": __name__})
    options: GRU = kind(hidden_size=3)
    return options


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("WithoutSizes", "write def __init__(self, options, input_size, norm)"),
        ("OfTorchsOrder", "write def step(self, term, state, t)"),
        ("WithoutMask", "write def input_term(self, x, t, mask=None)"),
        ("WithoutBatch", "write def initial_state(self, batch_size)"),
        ("OfATensor", "def initial_state(self, batch_size) returns a NamedTuple whose h is a tensor (B, H)"),
    ],
)
def test_cell_with_other_arguments_is_refused_with_the_line_to_write(name: str, line: str) -> None:
    with pytest.raises(CannotRun) as caught:
        cells.build(cell_at(name), 2, norms.build(NoNorm()))
    assert f"{__name__}.{name}" in str(caught.value)
    assert line in str(caught.value)


class WithoutNorms(Wrong):
    def __init__(self, options: GRU, input_size: int, norm: Normalization) -> None:
        RecurrentCell.__init__(self, options, input_size, norm)


@pytest.mark.parametrize("method", [NoNorm(), LayerNorm(), WeightNorm()])
def test_cell_without_a_norm_at_one_of_its_places_is_refused(method: Method) -> None:
    with pytest.raises(CannotRun) as caught:
        cells.build(cell_at("WithoutNorms"), 2, norms.build(method))
    assert str(caught.value) == (
        f"gru: {__name__}.WithoutNorms asks for no norm at recurrent, where a method would do nothing; write"
        ' self.norm_h = norm.norm(options.hidden_size, "recurrent") and call it, or remove recurrent from places in'
        " gru's options"
    )


class WithUnusedNorm(Wrong):
    """Cell that asks for a norm at its second place, and steps without it."""

    def step(self, term: Tensor, state: HiddenState, t: int) -> HiddenState:
        return HiddenState(torch.tanh(term + state.h @ self.weight_hh.T))


class WithLateNorm(WithUnusedNorm):
    """Cell that has no use for its norm at the first step, draws random numbers, and counts its steps."""

    steps: Tensor

    def __init__(self, options: GRU, input_size: int, norm: Normalization) -> None:
        super().__init__(options, input_size, norm)
        self.register_buffer("steps", torch.zeros(()))

    def step(self, term: Tensor, state: HiddenState, t: int) -> HiddenState:
        self.steps += torch.rand(()).ceil()
        return HiddenState(self.norm_h(state.h, t)) if t else state


def test_a_cell_that_never_calls_a_norm_that_it_asks_for_is_refused() -> None:
    with pytest.raises(CannotRun) as caught:
        cells.build(cell_at("WithUnusedNorm"), 2, norms.build(LayerNorm()))
    assert str(caught.value) == (
        f"gru: {__name__}.WithUnusedNorm asks for a norm at recurrent, and does not call it in two steps, so the method"
        " would do nothing there; call it on the summed inputs, or remove recurrent from places in gru's options"
    )


@pytest.mark.parametrize("method", [NoNorm(), WeightNorm(), LayerNorm(sites=("input",))])
def test_a_cell_need_not_call_a_norm_that_changes_nothing(method: Method) -> None:
    cells.build(cell_at("WithUnusedNorm"), 2, norms.build(method))


def test_the_try_of_a_cell_leaves_no_trace() -> None:
    """The norm computes again afterwards, and the random numbers are those of a cell that was not tried."""
    torch.manual_seed(0)
    norm = norms.build(LayerNorm())
    cell: Any = cells.build(cell_at("WithLateNorm"), 2, norm)
    following = torch.rand(3)
    torch.manual_seed(0)
    WithLateNorm(cell_at("WithLateNorm"), 2, norm)
    assert torch.equal(torch.rand(3), following)
    h = torch.tensor([[1.0, 2.0, 6.0]])
    assert not torch.equal(cell.norm_h(h, 0), h)
    assert cell.steps == 0


class ParametrizedByItself(Wrong):
    """Cell that lets the method parametrize its matrices, and keeps one of its own orthogonal."""

    def __init__(self, options: GRU, input_size: int, norm: Normalization) -> None:
        super().__init__(options, input_size, norm)
        self.square = nn.Linear(3, 3, bias=False)
        orthogonal(self.square)
        norm.parametrize(self, "weight_ih", "weight_hh")


def test_a_matrix_that_the_cell_has_parametrized_is_not_parametrized_again() -> None:
    cell = cells.build(cell_at("ParametrizedByItself"), 2, norms.build(WeightNorm()))
    assert isinstance(cell, nn.Module)
    of_matrices = {name for name, _ in cell.named_parameters() if "parametrizations" in name}
    assert of_matrices == {
        *(f"parametrizations.{matrix}.original{k}" for matrix in ("weight_ih", "weight_hh") for k in (0, 1)),
        "square.parametrizations.weight.original",
    }


class TiedWeights(Wrong):
    """Cell with two parts that share a matrix."""

    def __init__(self, options: GRU, input_size: int, norm: Normalization) -> None:
        super().__init__(options, input_size, norm)
        self.first, self.second = nn.Linear(3, 3), nn.Linear(3, 3)
        self.second.weight = self.first.weight


def test_a_method_that_would_untie_a_shared_matrix_is_refused() -> None:
    cell: Any = cells.build(cell_at("TiedWeights"), 2, norms.build(LayerNorm()))
    assert cell.first.weight is cell.second.weight
    with pytest.raises(CannotRun, match=r"first\.weight and second\.weight are one matrix"):
        cells.build(cell_at("TiedWeights"), 2, norms.build(WeightNorm()))


class Keeps(Wrong):
    """Cell that keeps its normalization."""

    def __init__(self, options: GRU, input_size: int, norm: Normalization) -> None:
        super().__init__(options, input_size, norm)
        self.normalization = norm


def test_cell_may_keep_its_normalization_and_be_copied() -> None:
    cell = cells.build(cell_at("Keeps"), 2, norms.build(LayerNorm()))
    copied: Any = deepcopy(cell)
    assert isinstance(copied.normalization, Normalization)
    assert copied.normalization.bias == LayerNorm().bias


class OfParts(Wrong):
    """Cell whose matrices are in modules of its own, and one of whose norms has a matrix."""

    def __init__(self, options: GRU, input_size: int, norm: Normalization) -> None:
        super().__init__(options, input_size, norm)
        self.gates = nn.ModuleList(nn.Linear(options.hidden_size, options.hidden_size) for _ in range(2))
        self.norm_h.weight = nn.Parameter(torch.ones(2, 2))


def test_method_reaches_the_matrices_of_a_cells_parts_but_not_those_of_norms() -> None:
    cell = cells.build(cell_at("OfParts"), 2, norms.build(WeightNorm()))
    assert isinstance(cell, nn.Module)
    names = [name for name, _ in cell.named_parameters()]
    assert {name.split("parametrizations")[0] for name in names if "parametr" in name} == {"", "gates.0.", "gates.1."}
    assert [name for name in names if name.startswith("norm_h")] == ["norm_h.weight"]


def test_cell_that_steps_to_a_tensor_is_refused_with_what_to_return() -> None:
    network = Recurrent(cell_at("StepsToATensor"), 2, NoNorm())
    with pytest.raises(CannotRun) as caught:
        network(torch.zeros(4, 1, 2))
    assert str(caught.value) == (
        f"{__name__}.StepsToATensor.step returned a Tensor; def step(self, term, state, t) returns a NamedTuple whose h"
        " is a tensor (B, H), as HiddenState(h) of normcore.cells.cell"
    )


class WithoutOptions(Normalization):
    """Method that takes no options."""


class WithoutBlocks(Normalization):
    def __init__(self, options: LayerNorm) -> None: ...

    def norm(self, hidden_size: int, site: Place) -> nn.Module:  # type: ignore[override]
        return nn.Identity()


class OfTorchsNorms(Normalization):
    def __init__(self, options: LayerNorm) -> None: ...

    def norm(self, hidden_size: int, site: Place, blocks: tuple[int, ...] = (1,)) -> nn.Module:
        return nn.LayerNorm(hidden_size * sum(blocks))


class OfNothing(OfTorchsNorms):
    def norm(self, hidden_size: int, site: Place, blocks: tuple[int, ...] = (1,)) -> nn.Module:
        return None  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("WithoutOptions", "write def __init__(self, options)"),
        ("WithoutBlocks", "write def norm(self, hidden_size, site, blocks=(1,))"),
        (
            "OfTorchsNorms",
            "LayerNorm.forward has the wrong arguments (too many positional arguments); write def forward",
        ),
        ("OfNothing", "norm() returned a NoneType; return an nn.Module"),
    ],
)
def test_method_with_other_arguments_is_refused_with_the_line_to_write(name: str, line: str) -> None:
    kind = type("Options", (LayerNorm,), {"home": f"{__name__}:{name}", "__module__": __name__})
    with pytest.raises(CannotRun) as caught:
        Recurrent(LSTM(hidden_size=3), 2, kind())
    assert str(caught.value).startswith("layer_norm: ")
    assert line in str(caught.value)


@dataclass(frozen=True)
class Frozen(Normalization):
    """Method that is a frozen dataclass."""

    options: LayerNorm


def test_method_that_is_a_frozen_dataclass_is_built() -> None:
    kind = type("Options", (LayerNorm,), {"home": f"{__name__}:Frozen", "__module__": __name__})
    assert isinstance(norms.build(kind()).norm(3, "sum"), Identity)
