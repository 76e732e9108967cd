"""Backward of one step: from gradients of the new state to gradients of its summed inputs and of the previous state."""

import triton
import triton.language as tl

from normcore.kernels.gpu.device.cells import (
    gru_gates,
    gru_gradient,
    lstm_cell,
    lstm_gates,
    lstm_gradient,
    sum_of_terms,
    tanh,
)
from normcore.kernels.gpu.device.norms import gradient, scaled, standardized_as_before
from normcore.kernels.gpu.device.tiles import (
    load_gates,
    load_mask,
    load_state,
    load_units,
    own_tile,
    store_gates,
    store_state,
)


@triton.jit(do_not_specialize=["B"])  # else compiled anew where 16 divides it
def backward_step(term, sums, h, c, mask, at_sums, at_cell, grad_y, grad_h, grad_c, grad_term, grad_sums,
                  grad_gain, grad_shift, grad_gain_cell, grad_shift_cell, B,
                  H: tl.constexpr, G: tl.constexpr, KIND_SUMS: tl.constexpr, KIND_CELL: tl.constexpr,
                  JOINT: tl.constexpr, CARRIES: tl.constexpr, R: tl.constexpr, C: tl.constexpr):  # fmt: skip
    """One step, whose gates are computed again.

    Args:
        term, sums, h, c, mask: as of ``forward_step``.
        grad_y: (B, H), of what this step gives out; None if nobody used it.
        grad_h: (B, H), what reaches the state after the step from later ones; then what reaches the state before it
            other than through W_h.
        grad_c: (B, H), of the cell after the step, then of that before.
        grad_term, grad_sums: (B, G H), of both terms; the first is None if they are one.
        grad_gain, ...: (programs, G H), to which this step's are added; None where there is no such parameter.
    """
    tile = own_tile(B, H, R, C)
    a = load_gates(sums, tile, H, G)
    x = None if term is None else load_gates(term, tile, H, G)
    state = load_state(h, c, tile, H)
    d = with_outputs(load_state(grad_h, grad_c, tile, H), grad_y, tile, H)
    dx, da, d = gradients_before(x, a, state, d, mask, at_sums, at_cell, grad_gain, grad_shift, grad_gain_cell,
                                 grad_shift_cell, tile, B, H, G, KIND_SUMS, KIND_CELL, JOINT, CARRIES)  # fmt: skip
    store_state(grad_h, grad_c, d, tile, H)
    if grad_term is not None:
        store_gates(grad_term, dx, tile, H, G)
    store_gates(grad_sums, da, tile, H, G)


@triton.jit
def gradients_before(x, a, state, d, mask, at_sums, at_cell, grad_gain, grad_shift, grad_gain_cell, grad_shift_cell,
                     tile, B, H: tl.constexpr, G: tl.constexpr, KIND_SUMS: tl.constexpr, KIND_CELL: tl.constexpr,
                     JOINT: tl.constexpr, CARRIES: tl.constexpr):  # fmt: skip
    """Gradients of the input term, the sums and the previous state. The part of h through W_h is not included.

    Args:
        x, a, state: what ``state_after`` had.
        d: gradients of the state after the step.
    """
    n = standardized_as_before(a, at_sums, tile, B, H, G, KIND_SUMS)
    r = scaled(n, at_sums, tile, H, G)
    there = tile.inside if mask is None else load_mask(mask, tile, B)
    dh = tl.where(there, d[0], 0.0)
    dh_passed_on = tl.where(there, 0.0, d[0])
    if G == 4:
        c = state[1]
        gates = lstm_gates(sum_of_terms(x, r, G))
        n_cell = standardized_as_before((lstm_cell(gates, c),), at_cell, tile, B, H, 1, KIND_CELL)
        shown = tanh(scaled(n_cell, at_cell, tile, H, 1)[0])
        dread = dh * gates[3] * (1 - shown * shown)
        dc_after = tl.where(there, d[1], 0.0)
        if CARRIES:
            dread += dc_after
        dc = gradient((dread,), n_cell, at_cell, grad_gain_cell, grad_shift_cell, tile, B, H, 1, KIND_CELL, False)[0]
        if not CARRIES:
            dc += dc_after
        dr = lstm_gradient(gates, c, dc, dh * shown)
        dx = dr
        before = (dh_passed_on, tl.where(there, 0.0, d[1]) + dc * gates[1])
    elif G == 3:
        gates = gru_gates(x, r)
        dx, dr = gru_gradient(gates, r, state[0], dh)
        before = (dh_passed_on + dh * gates[1],)
    else:
        y = tanh(sum_of_terms(x, r, G)[0])
        dr = (dh * (1 - y * y),)
        dx = dr
        before = (dh_passed_on,)
    da = gradient(dr, n, at_sums, grad_gain, grad_shift, tile, B, H, G, KIND_SUMS, JOINT)
    return dx, da, before


@triton.jit
def with_outputs(d, grad_y, tile, H: tl.constexpr):
    """The gradients of a state, of whose h those of y are part."""
    if grad_y is None:
        both = d
    elif len(d) == 2:
        both = (d[0] + load_units(grad_y, tile, H), d[1])
    else:
        both = (d[0] + load_units(grad_y, tile, H),)
    return both
