"""A cell or a method with the wrong interface is refused before training, with its class and what it lacks."""

import pytest
from torch import nn

from normcore import cells, norms
from normcore.norms.normalization import Normalization
from normcore.spec.cells.gru import GRU
from normcore.spec.methods.layer_norm import LayerNorm
from normcore.spec.methods.none import NoNorm
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
        f"gru: {__name__}.Forward has no initial_state and no input_term; a cell has initial_state(batch_size),"
        " input_term(x, t, mask=None), step(term, state, t)"
    )


def test_method_that_is_not_a_normalization_is_refused_with_its_base_class() -> None:
    with pytest.raises(CannotRun) as caught:
        norms.build(OldMethod())
    base = f"{Normalization.__module__}.{Normalization.__qualname__}"
    assert str(caught.value) == f"layer_norm: {__name__}.Forward is no subclass of {base}, which says what to implement"
