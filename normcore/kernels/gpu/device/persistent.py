"""All steps of a sequence in one kernel that keeps W_h and the state on the chip. A program has R examples and all
units, of which there are few. If statistics are over the examples, one program has all examples.

A thread reads up to 512 operands of a product from shared memory while the product is computed. Nothing that waits for
other threads may come in between: otherwise all operands are held at once, and there are not enough registers. So the
input's term is read after the products. ``max_num_imprecise_acc`` has no effect on the numbers here (it is for float8),
but it keeps Triton from starting a product's sum with the input's term. The ``Site`` of a step is built where it is
used, because in Triton 3.6 no function can return a ``Site`` that contains None.
"""

import triton
import triton.language as tl

from normcore.kernels.gpu.device.backward import gradients_before, with_outputs
from normcore.kernels.gpu.device.cells import sum_of_terms
from normcore.kernels.gpu.device.forward import state_after
from normcore.kernels.gpu.device.norms import BATCH_NORM, LAYER_NORM, RMS_NORM
from normcore.kernels.gpu.device.tiles import Site, load_gates, load_state, own_tile, store_gates, store_state


@triton.jit(do_not_specialize=["T", "B"])  # else Triton compiles it again if 16 divides T or B
def forward_sequence(term, weight, mask, at_sums, at_cell, states, cells, sums, T, B,
                     H: tl.constexpr, G: tl.constexpr, KIND_SUMS: tl.constexpr, KIND_CELL: tl.constexpr,
                     JOINT: tl.constexpr, CARRIES: tl.constexpr, EPS_SUMS: tl.constexpr, EPS_CELL: tl.constexpr,
                     ROUNDING: tl.constexpr, LAST_PLACE: tl.constexpr, TOGETHER: tl.constexpr,
                     PRECISION: tl.constexpr, R: tl.constexpr, C: tl.constexpr):  # fmt: skip
    """Compute all steps of a sequence. The arguments are those of ``forward_step``, but for all steps, and:

    Args:
        weight: (G H, H), W_h.
        states, cells: (T + 1, B, H), states to fill in; the first state is given.
        sums: (T, B, G H), sums to fill in for backward; None without backward. If ``TOGETHER``, the sums contain the
            input's term.
    """
    tile = own_tile(B, H, R, C)
    w = _load_weight(weight, H, G, C)
    state = load_state(states, cells, tile, H)
    size = tl.full((), 0, tl.int64) + B * H
    for t in range(T):
        a = ()
        for k in tl.static_range(G):
            h = state[0].to(w[k].dtype)
            a += (tl.dot(h, tl.trans(w[k]), input_precision=PRECISION, max_num_imprecise_acc=C,
                         out_dtype=state[0].dtype),)  # fmt: skip  # W_h h
        x = load_gates(term + t * size * G, tile, H, G)
        if TOGETHER:
            a = sum_of_terms(x, a, G)
        if sums is not None:
            store_gates(sums + t * size * G, a, tile, H, G)
        longest = tl.sqrt(tl.max(tl.sum(state[0] * state[0], 1), 0)) if KIND_SUMS == BATCH_NORM else 0.0
        sums_at = _locate_statistics(t, B, H, G, KIND_SUMS)
        cell_at = _locate_statistics(t, B, H, 1, KIND_CELL)
        state = state_after(None if TOGETHER else x, a, state, None if mask is None else mask + t * B,
                            Site(at_sums.gain, at_sums.shift,
                                 None if at_sums.statistics is None else at_sums.statistics + sums_at, at_sums.size),
                            Site(at_cell.gain, at_cell.shift,
                                 None if at_cell.statistics is None else at_cell.statistics + cell_at, at_cell.size),
                            longest, tile, B, H, G, KIND_SUMS, KIND_CELL, JOINT, EPS_SUMS, EPS_CELL, ROUNDING,
                            LAST_PLACE, CARRIES)  # fmt: skip
        state = _inside(state, tile)
        after = (t + 1) * size
        store_state(states + after, None if cells is None else cells + after, state, tile, H)


@triton.jit(do_not_specialize=["T", "B"])  # else Triton compiles it again if 16 divides T or B
def backward_sequence(term, weight, mask, at_sums, at_cell, states, cells, sums, grad_y, grad_h, grad_c, grad_term,
                      grad_sums, grad_gain, grad_shift, grad_gain_cell, grad_shift_cell, T, B,
                      H: tl.constexpr, G: tl.constexpr, KIND_SUMS: tl.constexpr, KIND_CELL: tl.constexpr,
                      JOINT: tl.constexpr, CARRIES: tl.constexpr, PRECISION: tl.constexpr, R: tl.constexpr,
                      C: tl.constexpr):  # fmt: skip
    """Compute the gradients of all steps. The arguments are those of ``backward_step``, but for all steps; in the end
    ``grad_h`` and ``grad_c`` (B, H) are the gradients of the first state.
    """
    tile = own_tile(B, H, R, C)
    w = _load_weight(weight, H, G, C)
    d = load_state(grad_h, grad_c, tile, H)
    size = tl.full((), 0, tl.int64) + B * H
    for back in range(T):
        t = T - 1 - back
        at = t * size
        x = None if term is None else load_gates(term + at * G, tile, H, G)
        a = load_gates(sums + at * G, tile, H, G)
        state = load_state(states + at, None if cells is None else cells + at, tile, H)
        d = with_outputs(d, None if grad_y is None else grad_y + at, tile, H)
        sums_at = _locate_statistics(t, B, H, G, KIND_SUMS)
        cell_at = _locate_statistics(t, B, H, 1, KIND_CELL)
        dx, da, before = gradients_before(x, a, state, d, None if mask is None else mask + t * B,
                                          Site(at_sums.gain, at_sums.shift,
                                               None if at_sums.statistics is None else at_sums.statistics + sums_at,
                                               at_sums.size),
                                          Site(at_cell.gain, at_cell.shift,
                                               None if at_cell.statistics is None else at_cell.statistics + cell_at,
                                               at_cell.size), grad_gain, grad_shift,
                                          grad_gain_cell, grad_shift_cell, tile, B, H, G, KIND_SUMS, KIND_CELL, JOINT,
                                          CARRIES)  # fmt: skip
        if grad_term is not None:
            store_gates(grad_term + at * G, dx, tile, H, G)
        store_gates(grad_sums + at * G, da, tile, H, G)
        dh = before[0]
        for k in tl.static_range(G):
            dh += tl.dot(da[k].to(w[k].dtype), w[k], input_precision=PRECISION, out_dtype=dh.dtype)
        d = (dh,) if cells is None else (dh, before[1])
        tl.debug_barrier()  # all threads see the gradients of the parameters as added up so far
    store_state(grad_h, grad_c, d, tile, H)


@triton.jit
def _inside(state, tile):
    """Set the state to zero outside of the tile's valid part, where a shift left other numbers. Otherwise the next
    step's products would put them into statistics over the examples."""
    kept = ()
    for k in tl.static_range(len(state)):
        kept += (tl.where(tile.inside, state[k], 0.0),)
    return kept


@triton.jit
def _load_weight(weight, H: tl.constexpr, G: tl.constexpr, C: tl.constexpr):
    """Load W_h of each gate, (C, C), from (G H, H)."""
    rows = tl.arange(0, C)[:, None]
    columns = tl.arange(0, C)[None, :]
    gates = ()
    for k in tl.static_range(G):
        gates += (tl.load(weight + (k * H + rows) * H + columns, (rows < H) & (columns < H), 0.0),)
    return gates


@triton.jit
def _locate_statistics(t, B, H: tl.constexpr, G: tl.constexpr, KIND: tl.constexpr):
    """Compute the offset of step t in the statistics (T, 2 or 3, G, L) of all steps, in numbers."""
    lines = B if KIND == LAYER_NORM or KIND == RMS_NORM else H  # noqa: SIM109, as Triton knows no membership
    which = 3 if KIND == BATCH_NORM else 2
    return t * which * G * lines
