"""Moments that batch norms record while a cell runs over a sequence."""

import contextlib
from typing import Any, cast

import pytest
import torch

from normcore.cells import Cell
from normcore.norms.population import population_statistics
from normcore.recurrent import Recurrent, states, unroll
from tests.normcore.networks import recurrent

RUNNING = {"method": "recurrent_batch_norm", "population": "running"}


def only_cell(network: Recurrent) -> Cell[Any]:
    (cell,) = network.cells
    return cast(Cell[Any], cell)


@pytest.mark.parametrize("cell", ["rnn", "lstm", "gru"])
def test_states_one_by_one_equal_those_of_unroll(cell: str) -> None:
    torch.manual_seed(0)
    built = only_cell(recurrent(cell, 3, 5, norm=RUNNING))
    x, start = torch.randn(4, 6, 3), built.initial_state(6)
    y, end, moments = unroll(built, x, start)
    every = list(states(built, x, start))
    assert torch.equal(torch.stack([state.h for state in every]), y)
    assert all(torch.equal(last, other) for last, other in zip(every[-1], end, strict=True))
    assert {len(seen[0]) for seen in moments.values()} == {4}


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
