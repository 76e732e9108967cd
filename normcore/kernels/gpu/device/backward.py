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
from normcore.kernels.gpu.device.norms import gradient, scale_gates, standardize_gates_as_before
from normcore.kernels.gpu.device.tiles import (
    load_gates,
    load_mask,
    load_state,
    load_units,
    own_tile,
    store_gates,
    store_state,
)


@triton.jit(do_not_specialize=["B"])  # else Triton compiles it again if 16 divides B
def backward_step(term, sums, h, c, mask, at_sums, at_cell, grad_y, grad_h, grad_c, grad_term, grad_sums,
                  grad_gain, grad_shift, grad_gain_cell, grad_shift_cell, B,
                  H: tl.constexpr, G: tl.constexpr, KIND_SUMS: tl.constexpr, KIND_CELL: tl.constexpr,
                  JOINT: tl.constexpr, CARRIES: tl.constexpr, R: tl.constexpr, C: tl.constexpr):  # fmt: skip
    """Compute the gradients of one step. The gates are computed again.

    Args:
        term, sums, h, c, mask: the same as in ``forward_step``.
        grad_y: (B, H), gradient of this step's output; None if the output was not used.
        grad_h: (B, H), read as the gradient of h after the step, from later steps; overwritten by the gradient of h
            before the step, without the part through W_h.
        grad_c: (B, H), read as the gradient of c after the step; overwritten by the gradient of c before the step.
        grad_term, grad_sums: (B, G H), gradients of the input's term and of the sums; ``grad_term`` is None if the
            term is part of the sums.
        grad_gain, ...: (programs, G H), gradients of parameters, to which this step's part is added; None if there is
            no such parameter.
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
    """Compute the gradients of the input's term, the sums and the previous state. The gradient of h does not include
    the part through W_h.

    Args:
        x, a, state: the same as in ``state_after``.
        d: gradients of the state after the step.
    """
    n = standardize_gates_as_before(a, at_sums, tile, B, H, G, KIND_SUMS)
    r = scale_gates(n, at_sums, tile, H, G)
    there = tile.inside if mask is None else load_mask(mask, tile, B)
    dh = tl.where(there, d[0], 0.0)
    dh_passed_on = tl.where(there, 0.0, d[0])
    if G == 4:
        c = state[1]
        gates = lstm_gates(sum_of_terms(x, r, G))
        n_cell = standardize_gates_as_before((lstm_cell(gates, c),), at_cell, tile, B, H, 1, KIND_CELL)
        shown = tanh(scale_gates(n_cell, at_cell, tile, H, 1)[0])
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
    """Add the gradient of y to the gradient of h in the gradients ``d`` of a state."""
    if grad_y is None:
        both = d
    elif len(d) == 2:
        both = (d[0] + load_units(grad_y, tile, H), d[1])
    else:
        both = (d[0] + load_units(grad_y, tile, H),)
    return both
