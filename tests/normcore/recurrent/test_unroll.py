"""``unroll`` is a loop over ``step``, and it returns the moments of the batch norms."""

from typing import Any

import pytest
import torch
from torch import Tensor

from normcore.norms.population import batch_norms, population_statistics
from normcore.recurrent import UnrolledCell, states, take_in_moments, unroll
from normcore.spec.cells import CELLS
from normcore.spec.methods import METHODS
from tests.normcore.networks import recurrent

T, B, F, H = 6, 4, 3, 5
FITTING = [(cell, method) for cell in CELLS for method, kind in METHODS.items() if kind.fits(CELLS[cell])]


def cell_of(cell: str = "lstm", method: str = "none", **options: Any) -> Any:
    torch.manual_seed(0)
    return recurrent(cell, F, H, norm={"method": method, **options}).double().cells[0]


def inputs() -> Tensor:
    return torch.randn(T, B, F, dtype=torch.float64, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize(("name", "method"), FITTING)
def test_unroll_is_a_loop_over_the_step_of_the_cell(name: str, method: str) -> None:
    cell, x = cell_of(name, method), inputs()
    state = cell.initial_state(B)
    done = unroll(cell, x, state)
    assert done.y.shape == (T, B, H)
    terms = cell.input_term(x, 0)
    for t in range(T):
        state = cell.step(terms[t], state, t)
        torch.testing.assert_close(done.y[t], state.h, rtol=1e-12, atol=1e-12)
    for ours, by_hand in zip(done.end, state, strict=True):
        torch.testing.assert_close(ours, by_hand, rtol=1e-12, atol=1e-12)


def test_every_step_uses_the_statistics_of_its_own_number() -> None:
    cell, x = cell_of("lstm", "recurrent_batch_norm"), inputs()
    with torch.no_grad():
        with population_statistics(cell.eval()):
            take_in_moments(cell, unroll(cell, x, cell.initial_state(B)).moments)
        for start in (0, 2):
            state = cell.initial_state(B)
            done = unroll(cell, x[:3], state, t=start)
            terms = cell.input_term(x[:3], start)
            for t in range(3):
                state = cell.step(terms[t], state, start + t)
                torch.testing.assert_close(done.y[t], state.h, rtol=1e-12, atol=1e-12)


def test_empty_sequence_leaves_the_state_unchanged() -> None:
    cell = cell_of()
    start = cell.initial_state(B)
    y, end, moments = unroll(cell, inputs()[:0], start)
    assert (y.shape, end, moments) == ((0, B, H), start, {})


def test_states_are_the_tensors_that_the_next_step_uses() -> None:
    """A gradient with respect to a state is therefore the gradient of everything after that state."""
    cell, x = cell_of(), inputs()
    gone_through = list(states(cell, x, cell.initial_state(B)))
    assert len(gone_through) == T
    loss = gone_through[-1].h.sum()
    gradients = torch.autograd.grad(loss, [state.h for state in gone_through])
    for t, gradient in enumerate(gradients):
        h = gone_through[t].h.detach().requires_grad_()
        begun = gone_through[t]._replace(h=h)  # the cell c still depends on h of earlier steps
        end = begun if t == T - 1 else list(states(cell, x[t + 1 :], begun, t + 1))[-1]
        [expected] = torch.autograd.grad(end.h.sum(), h)
        torch.testing.assert_close(gradient, expected, rtol=1e-10, atol=1e-12)
        assert gradient.abs().max() > 0


def test_unroll_stacks_the_states() -> None:
    cell, x = cell_of("gru"), inputs()
    done = unroll(cell, x, cell.initial_state(B))
    stacked = torch.stack([state.h for state in states(cell, x, cell.initial_state(B))])
    torch.testing.assert_close(done.y, stacked, rtol=0, atol=0)


# -- moments of batch norms ------------------------------------------------------------------------


def normalized(**options: Any) -> Any:
    return cell_of("lstm", "recurrent_batch_norm", **options)


def by_hand(cell: Any, x: Tensor) -> dict[str, Tensor]:
    """Compute means and biased variances over the batch, step by step."""
    a = x @ cell.weight_ih.T
    hs, cs, state = [], [], cell.initial_state(B)
    terms = cell.input_term(x, 0)
    for t in range(T):
        hs.append(state.h @ cell.weight_hh.T)
        state = cell.step(terms[t], state, t)
        cs.append(state.c)
    seen = {"norm_x": a, "norm_h": torch.stack(hs), "norm_c": torch.stack(cs)}
    return {name: torch.stack([v.mean(1), v.var(1, correction=0)]).detach() for name, v in seen.items()}


def test_moments_of_every_step_are_returned_for_running_averages() -> None:
    cell, x = normalized(population="running"), inputs()
    expected = by_hand(cell, x)
    unroll(cell, x, cell.initial_state(B))  # its moments are not kept
    done = unroll(cell, x, cell.initial_state(B))
    assert done.moments.keys() == expected.keys()
    for name, moments in done.moments.items():
        assert moments.shape == (2, T, H if name == "norm_c" else 4 * H)
        assert not moments.requires_grad
        torch.testing.assert_close(moments, expected[name], rtol=1e-9, atol=1e-12)


def test_moments_are_not_kept_in_the_modules() -> None:
    cell = normalized(population="running")
    unroll(cell, inputs(), cell.initial_state(B))
    for norm in batch_norms(cell).values():
        assert norm.moments() is None
        assert len(norm.running_mean) == 0, "the caller hands them over"


def test_moments_are_returned_only_while_population_statistics_are_collected() -> None:
    cell = normalized()
    assert unroll(cell, inputs(), cell.initial_state(B)).moments == {}
    with population_statistics(cell.eval()), torch.no_grad():
        done = unroll(cell, inputs(), cell.initial_state(B))
        assert done.moments.keys() == {"norm_x", "norm_h", "norm_c"}
        take_in_moments(cell, done.moments)
    for name, norm in batch_norms(cell).items():
        torch.testing.assert_close(torch.stack([norm.running_mean, norm.running_var]), done.moments[name])
    assert unroll(cell, inputs(), cell.initial_state(B)).moments == {}


def test_moments_of_pieces_are_taken_in_at_their_steps() -> None:
    whole, pieces, x = normalized(population="running"), normalized(population="running"), inputs()
    take_in_moments(whole, unroll(whole, x, whole.initial_state(B)).moments)
    first: UnrolledCell = unroll(pieces, x[:2], pieces.initial_state(B))
    take_in_moments(pieces, first.moments)
    take_in_moments(pieces, unroll(pieces, x[2:], first.end, 2).moments, 2)
    for name, norm in batch_norms(whole).items():
        other = batch_norms(pieces)[name]
        assert len(norm.running_mean) == T
        torch.testing.assert_close(other.running_mean, norm.running_mean, rtol=1e-10, atol=1e-12)
        torch.testing.assert_close(other.running_var, norm.running_var, rtol=1e-10, atol=1e-12)


def test_statistics_over_the_whole_sequence_are_returned_once() -> None:
    cell, x = cell_of("lstm", "sequence_batch_norm"), inputs()
    with population_statistics(cell.eval()), torch.no_grad():
        done = unroll(cell, x, cell.initial_state(B))
        take_in_moments(cell, done.moments)
    [moments] = done.moments.values()
    rows = (x @ cell.weight_ih.T).flatten(0, 1)
    assert moments.shape == (2, 1, 4 * H)
    torch.testing.assert_close(moments[:, 0], torch.stack([rows.mean(0), rows.var(0, correction=0)]).detach())
