"""Forward of one step: from its summed inputs to the new state."""

import triton
import triton.language as tl

from normcore.kernels.gpu.device.cells import gru_gates, gru_state, lstm_cell, lstm_gates, sum_of_terms, tanh
from normcore.kernels.gpu.device.norms import BATCH_NORM, scale_gates, standardize_gates
from normcore.kernels.gpu.device.tiles import load_gates, load_mask, load_state, own_tile, store_state


@triton.jit(do_not_specialize=["B"])  # else Triton compiles it again if 16 divides B
def forward_step(term, sums, h, c, mask, at_sums, at_cell, squares, h_after, c_after, squares_after, B,
                 H: tl.constexpr, G: tl.constexpr, KIND_SUMS: tl.constexpr, KIND_CELL: tl.constexpr,
                 JOINT: tl.constexpr, EPS_SUMS: tl.constexpr, EPS_CELL: tl.constexpr, ROUNDING: tl.constexpr,
                 LAST_PLACE: tl.constexpr, CARRIES: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
                 PROGRAMS: tl.constexpr):  # fmt: skip
    """Compute the state after one step.

    Args:
        term: (B, G H), the input's term; None if it is part of the sums.
        sums: (B, G H), W_h h.
        h, c, h_after, c_after: (B, H), state before and after the step; c is None for a cell without c.
        mask: (B), 0 for an example that does not have this step; None if all examples have it.
        squares, squares_after: (programs, B), the part of |h|^2 from each program's units, before and after the step.
            Only batch norm needs them: the size of the products is |w| |h|.
        ROUNDING: largest rounding of a sum of products, relative to the size of the products.
        LAST_PLACE: eps of the factors' precision, which may be coarser: rounding of a sum, relative to the sum itself.
    """
    tile = own_tile(B, H, R, C)
    a = load_gates(sums, tile, H, G)
    x = None if term is None else load_gates(term, tile, H, G)
    state = load_state(h, c, tile, H)
    longest = _longest(squares, tile, B, PROGRAMS) if KIND_SUMS == BATCH_NORM else 0.0
    state = state_after(x, a, state, mask, at_sums, at_cell, longest, tile, B, H, G, KIND_SUMS, KIND_CELL, JOINT,
                        EPS_SUMS, EPS_CELL, ROUNDING, LAST_PLACE, CARRIES)  # fmt: skip
    store_state(h_after, c_after, state, tile, H)
    if KIND_SUMS == BATCH_NORM:
        own = tl.sum(tl.where(tile.inside, state[0] * state[0], 0.0), 1, keep_dims=True)
        tl.store(squares_after + tl.program_id(1) * B + tile.rows, own, tile.rows < B)


@triton.jit
def state_after(x, a, state, mask, at_sums, at_cell, longest, tile, B, H: tl.constexpr, G: tl.constexpr,
                KIND_SUMS: tl.constexpr, KIND_CELL: tl.constexpr, JOINT: tl.constexpr, EPS_SUMS: tl.constexpr,
                EPS_CELL: tl.constexpr, ROUNDING: tl.constexpr, LAST_PLACE: tl.constexpr,
                CARRIES: tl.constexpr):  # fmt: skip
    """Compute the state after a step, from the input's term x, the sums a and the state before the step. A state is
    h, or h and c, (R, C) each. ``longest`` is the largest |h| of all examples, which only batch norm needs.
    """
    n = standardize_gates(a, at_sums, longest, tile, B, H, G, KIND_SUMS, JOINT, EPS_SUMS, ROUNDING, LAST_PLACE)
    r = scale_gates(n, at_sums, tile, H, G)
    if G == 4:
        gates = lstm_gates(sum_of_terms(x, r, G))
        c = tl.where(tile.inside, lstm_cell(gates, state[1]), 0.0)
        n_cell = standardize_gates((c,), at_cell, 0.0, tile, B, H, 1, KIND_CELL, False, EPS_CELL, ROUNDING, 0.0)
        read = scale_gates(n_cell, at_cell, tile, H, 1)[0]
        h = gates[3] * tanh(read)  # LN Eq. 22, RBN Eq. 16
        after = (h, read if CARRIES else c)
    elif G == 3:
        after = (gru_state(gru_gates(x, r), state[0]),)
    else:
        after = (tanh(sum_of_terms(x, r, G)[0]),)  # LN Eq. 4
    if mask is not None:
        there = load_mask(mask, tile, B)
        if G == 4:
            after = (tl.where(there, after[0], state[0]), tl.where(there, after[1], state[1]))
        else:
            after = (tl.where(there, after[0], state[0]),)
    return after


@triton.jit
def _longest(squares, tile, B, PROGRAMS: tl.constexpr):
    """Compute the largest length |h| of the rows, from the parts of |h|^2 in ``squares``."""
    programs = tl.arange(0, triton.next_power_of_2(PROGRAMS))[None, :]
    parts = tl.load(squares + programs * B + tile.rows, (programs < PROGRAMS) & (tile.rows < B), 0.0)  # (R, programs)
    return tl.sqrt(tl.max(tl.sum(parts, 1), 0))
