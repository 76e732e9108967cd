"""Tile of a program: its place, and how its numbers are read and written.

A tuple of G tiles (R, C) holds one gate each; the state is a tuple's only tile.

Where a number of a tile lies, from where its gate begins, is the same for all gates of all steps: as a term of its own,
a thread has it in registers once.
"""

from typing import Any, NamedTuple

import triton
import triton.language as tl


class Tile(NamedTuple):
    """Examples (R, 1), units (1, C), and which of both there are (R, C)."""

    rows: Any
    units: Any
    inside: Any


class Site(NamedTuple):
    """Parameters and statistics at a site of a cell; None for each that the site lacks.

    Attributes:
        gain, shift: (G H).
        statistics: (2 or 3, G, L), mean and 1 / sqrt(var + eps) of every line, and of batch norm's the variance.
        size: (G H), |w| of every row of the weights; batch norm's alone.
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
    """Load a tile of (B, G H)."""
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
    """Load a tile of (B, H)."""
    return tl.load(source + (tile.rows * H + tile.units), tile.inside, 0.0)


@triton.jit
def store_units(target, values, tile, H: tl.constexpr):
    tl.store(target + (tile.rows * H + tile.units), values, tile.inside)


@triton.jit
def load_state(h, c, tile, H: tl.constexpr):
    """(h, c), or (h,) of a cell that has no c."""
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
    """(1, C) of each gate, of (G H); if there are none, a number."""
    parameters = ()
    for k in tl.static_range(G):
        if source is None:
            parameters += (otherwise,)
        else:
            parameters += (tl.load(source + k * H + tile.units, tile.units < H, 0.0),)
    return parameters


@triton.jit
def add_to_parameters(target, gates, tile, H: tl.constexpr, G: tl.constexpr):
    """Add what the tile's examples contribute to this program's row of (programs, G H)."""
    for k in tl.static_range(G):
        at = target + (tl.program_id(0) * G + k) * H + tile.units
        there = tile.units < H
        tl.store(at, tl.load(at, there, 0.0) + tl.sum(gates[k], 0, keep_dims=True), there)


@triton.jit
def load_mask(mask, tile, B):
    """(R, 1): which examples have this step."""
    return tl.load(mask + tile.rows, tile.rows < B, 0) != 0
