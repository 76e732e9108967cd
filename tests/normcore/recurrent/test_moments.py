"""Moments that batch norms record while a cell runs over a sequence."""

import contextlib
from typing import Any, cast

import torch

from normcore.cells import Cell
from normcore.norms.population import population_statistics
from normcore.recurrent import Recurrent, states
from tests.normcore.networks import recurrent

RUNNING = {"method": "recurrent_batch_norm", "population": "running"}


def only_cell(network: Recurrent) -> Cell[Any]:
    (cell,) = network.cells
    return cast(Cell[Any], cell)


def test_moments_of_an_earlier_pass_are_not_counted() -> None:
    """A pass over ``states``, or an interrupted pass, takes no moments."""
    torch.manual_seed(0)
    network = recurrent("lstm", 3, 5, norm=RUNNING)
    cell, x = only_cell(network), torch.randn(4, 6, 3)
    list(states(cell, torch.randn(7, 6, 3), cell.initial_state(6)))
    network(x)
    assert len(network.get_buffer("cells.0.norm_h.running_mean")) == 4


def test_moments_of_an_interrupted_population_pass_are_not_counted() -> None:
    torch.manual_seed(0)
    network = recurrent("lstm", 3, 5, norm={"method": "recurrent_batch_norm"})
    x = torch.randn(4, 6, 3)
    every = states(only_cell(network), x, only_cell(network).initial_state(6))
    with contextlib.suppress(ValueError), torch.no_grad(), population_statistics(network):
        next(every)
    with torch.no_grad(), population_statistics(network):
        network(x)
    assert len(network.get_buffer("cells.0.norm_h.running_mean")) == 4
