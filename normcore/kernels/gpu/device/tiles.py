"""Tile of a program: where the tile lies, and how its numbers are loaded and stored.

Summed inputs are tuples of G tiles (R, C), one for each gate. The state is a tuple of one tile for h and, in an LSTM,
one for c.

The offset of a tile's number from the start of its gate is the same for all gates and steps. It is computed as a
separate term, so that a thread holds it in registers only once.
"""

from typing import Any, NamedTuple

import triton
import triton.language as tl


class Tile(NamedTuple):
    """Tile of a program: indices of its examples (R, 1) and units (1, C), and ``inside`` (R, C), which is true where
    both exist."""

    rows: Any
    units: Any
    inside: Any


class Site(NamedTuple):
    """Parameters and statistics at a site of a cell; None for each of them that the site lacks.

    Attributes:
        gain, shift: (G H), parameters of the norm.
        statistics: (2 or 3, G, L), mean and 1 / sqrt(var + eps) of every line; for batch norm also the variance.
        size: (G H), length |w| of every row of the weights; only batch norm needs it.
    """

    gain: Any
    shift: Any
    statistics: Any
    size: Any


@triton.jit
def own_tile(B, H: tl.constexpr, R: tl.constexpr, C: tl.constexpr):
    rows = tl.program_id(0) * R + tl.arange(0, R)[:, None]
    units = tl.program_id(1) * C + tl.arange(0, C)[None, :]
    return Tile(rows, units, (rows < B) & (units < H))


@triton.jit
def load_gates(source, tile, H: tl.constexpr, G: tl.constexpr):
    """Load the tile of each gate from (B, G H)."""
    gates = ()
    for k in tl.static_range(G):
        gates += (tl.load(source + k * H + (tile.rows * (G * H) + tile.units), tile.inside, 0.0),)
    return gates


@triton.jit
def store_gates(target, gates, tile, H: tl.constexpr, G: tl.constexpr):
    for k in tl.static_range(G):
        tl.store(target + k * H + (tile.rows * (G * H) + tile.units), gates[k], tile.inside)


@triton.jit
def load_units(source, tile, H: tl.constexpr):
    """Load the tile from (B, H)."""
    return tl.load(source + (tile.rows * H + tile.units), tile.inside, 0.0)


@triton.jit
def store_units(target, values, tile, H: tl.constexpr):
    tl.store(target + (tile.rows * H + tile.units), values, tile.inside)


@triton.jit
def load_state(h, c, tile, H: tl.constexpr):
    """Load the state's tiles: (h, c), or (h,) for a cell without c."""
    state = (load_units(h, tile, H),)
    if c is not None:
        state += (load_units(c, tile, H),)
    return state


@triton.jit
def store_state(h, c, state, tile, H: tl.constexpr):
    store_units(h, state[0], tile, H)
    if c is not None:
        store_units(c, state[1], tile, H)


@triton.jit
def load_parameters(source, otherwise: tl.constexpr, tile, H: tl.constexpr, G: tl.constexpr):
    """Load the parameters (1, C) of each gate from (G H); if ``source`` is None, the number ``otherwise`` stands for
    each gate."""
    parameters = ()
    for k in tl.static_range(G):
        if source is None:
            parameters += (otherwise,)
        else:
            parameters += (tl.load(source + k * H + tile.units, tile.units < H, 0.0),)
    return parameters


@triton.jit
def add_to_parameters(target, gates, tile, H: tl.constexpr, G: tl.constexpr):
    """Sum gradients of the gates over the tile's examples, and add the sums to this program's row of ``target``, of
    shape (programs, G H): G gates, H hidden units.
    """
    for k in tl.static_range(G):
        at = target + (tl.program_id(0) * G + k) * H + tile.units
        there = tile.units < H
        tl.store(at, tl.load(at, there, 0.0) + tl.sum(gates[k], 0, keep_dims=True), there)


@triton.jit
def load_mask(mask, tile, B):
    """Load which examples of the tile have this step, (R, 1)."""
    return tl.load(mask + tile.rows, tile.rows < B, 0) != 0
