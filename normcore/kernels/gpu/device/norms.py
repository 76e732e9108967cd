"""Norms of a tile: the normalized value is n = (a - mean) / sqrt(var + eps), and the result is n gain + shift.

A line is a set of values that share statistics. For layer norm (LN Eq. 3) and RMS norm it is an example's features in
all gates of a block; for batch norm (RBN Eq. 9) it is a feature in all examples. Means and factors are (R, 1) or
(1, C), for each gate.
"""

import triton
import triton.language as tl

from normcore.kernels.cell_layout import NormKind
from normcore.kernels.gpu.device.tiles import add_to_parameters, load_parameters

NONE = tl.constexpr(NormKind.NONE.value)
LAYER_NORM = tl.constexpr(NormKind.LAYER_NORM.value)
RMS_NORM = tl.constexpr(NormKind.RMS_NORM.value)
BATCH_NORM = tl.constexpr(NormKind.BATCH_NORM.value)
POPULATION = tl.constexpr(NormKind.POPULATION.value)


@triton.jit
def standardize_gates(a, site, size, tile, B, H: tl.constexpr, G: tl.constexpr, KIND: tl.constexpr,
                      JOINT: tl.constexpr, EPS: tl.constexpr, ROUNDING: tl.constexpr,
                      LAST_PLACE: tl.constexpr):  # fmt: skip
    """Compute the normalized value n of each gate; store the lines' statistics for backward."""
    if KIND == NONE:
        n = a
    elif KIND == POPULATION:
        n = standardize_gates_as_before(a, site, tile, B, H, G, KIND)
    else:
        if KIND == BATCH_NORM:
            mean, rstd = _over_examples(a, site, size, tile, B, H, G, EPS, ROUNDING, LAST_PLACE)
        else:
            mean, rstd = _over_features(a, tile, B, H, G, KIND, JOINT, EPS)
        _keep(site, 0, mean, tile, B, H, G, KIND)
        _keep(site, 1, rstd, tile, B, H, G, KIND)
        n = _deviations(a, mean, rstd, G)
    return n


@triton.jit
def standardize_gates_as_before(a, site, tile, B, H: tl.constexpr, G: tl.constexpr, KIND: tl.constexpr):
    """Compute the normalized value n of each gate from stored statistics: of the forward pass, or the population's."""
    if KIND == NONE:
        n = a
    else:
        n = _deviations(a, _load_kept(site, 0, tile, B, H, G, KIND), _load_kept(site, 1, tile, B, H, G, KIND), G)
    return n


@triton.jit
def scale_gates(n, site, tile, H: tl.constexpr, G: tl.constexpr):
    """Compute n gain + shift of each gate."""
    gain = load_parameters(site.gain, 1.0, tile, H, G)
    shift = load_parameters(site.shift, 0.0, tile, H, G)
    out = ()
    for k in tl.static_range(G):
        out += (n[k] * gain[k] + shift[k],)
    return out


@triton.jit
def gradient(d, n, site, of_gain, of_shift, tile, B, H: tl.constexpr, G: tl.constexpr, KIND: tl.constexpr,
             JOINT: tl.constexpr):  # fmt: skip
    """Compute the gradient of a from the gradient d of n gain + shift: rstd (gain d - mean(gain d) - n mean(gain d n)),
    with means along the lines; RMS norm has no mean(gain d). Add this step's part to the gradients of gain and shift.
    """
    if of_shift is not None:
        add_to_parameters(of_shift, d, tile, H, G)
    if KIND == NONE:
        before = d
    else:
        dn = ()
        along = ()
        for k in tl.static_range(G):
            dn += (d[k] * n[k],)
        if of_gain is not None:
            add_to_parameters(of_gain, dn, tile, H, G)
        gain = load_parameters(site.gain, 1.0, tile, H, G)
        of_n = ()
        for k in tl.static_range(G):
            of_n += (d[k] * gain[k],)
            along += (dn[k] * gain[k],)
        along = _mean_along_lines(along, B, H, G, KIND, JOINT)
        mean = _mean_along_lines(of_n, B, H, G, KIND, JOINT)
        rstd = _load_kept(site, 1, tile, B, H, G, KIND)
        before = ()
        for k in tl.static_range(G):
            left = of_n[k] - n[k] * along[k]
            if KIND != RMS_NORM:
                left -= mean[k]
            before += (tl.where(tile.inside, rstd[k] * left, 0.0),)
    return before


@triton.jit
def _over_features(a, tile, B, H: tl.constexpr, G: tl.constexpr, KIND: tl.constexpr, JOINT: tl.constexpr,
                   EPS: tl.constexpr):  # fmt: skip
    """LN Eq. 3; of RMS norm (Zhang and Sennrich, Eq. 4) the mean of squares alone."""
    mean = _mean_along_lines(a, B, H, G, KIND, JOINT)
    if KIND == RMS_NORM:
        mean = _times(mean, 0.0, G)
    var = _mean_along_lines(_squared_deviations(a, mean, tile, G), B, H, G, KIND, JOINT)
    rstd = ()
    for k in tl.static_range(G):
        rstd += (tl.rsqrt(var[k] + EPS),)
    return mean, rstd


@triton.jit
def _over_examples(a, site, size, tile, B, H: tl.constexpr, G: tl.constexpr, EPS: tl.constexpr,
                   ROUNDING: tl.constexpr, LAST_PLACE: tl.constexpr):  # fmt: skip
    """Compute mean and 1 / sqrt(var + eps) over the examples, RBN Eq. 9. A feature whose variation rounding alone can
    explain, for products of this size, is normalized to 0: see ``BatchNormAtSite``. The variances are stored for
    moments.
    """
    mean = _mean_along_lines(a, B, H, G, BATCH_NORM, False)
    var = _mean_along_lines(_squared_deviations(a, mean, tile, G), B, H, G, BATCH_NORM, False)
    lengths = load_parameters(site.size, 0.0, tile, H, G)
    rstd = ()
    true_var = ()
    for k in tl.static_range(G):
        least = tl.min(tl.where(tile.rows < B, a[k], float("inf")), 0, keep_dims=True)
        greatest = tl.max(tl.where(tile.rows < B, a[k], float("-inf")), 0, keep_dims=True)
        own = tl.maximum(-least, greatest)
        rounding = tl.maximum(ROUNDING * tl.maximum(own, size * lengths[k]), LAST_PLACE * own)
        varies = greatest - least > rounding
        rstd += (tl.where(varies, tl.rsqrt(var[k] + EPS), 0.0),)
        true_var += (tl.where(varies, var[k], 0.0),)
    _keep(site, 2, true_var, tile, B, H, G, BATCH_NORM)
    return mean, rstd


@triton.jit
def _mean_along_lines(values, B, H: tl.constexpr, G: tl.constexpr, KIND: tl.constexpr, JOINT: tl.constexpr):
    """Compute means along the lines: over the features of a gate's block, or over the examples. The tiles must be 0
    outside of B and H."""
    means = ()
    for k in tl.static_range(G):
        if KIND == BATCH_NORM:
            means += (tl.sum(values[k], 0, keep_dims=True) / B,)
        else:
            means += (tl.sum(values[k], 1, keep_dims=True) / H,)
    if JOINT and G == 4:  # LN Eq. 20: the gates of an LSTM share statistics
        mean = (means[0] + means[1] + means[2] + means[3]) / 4
        means = (mean, mean, mean, mean)
    elif JOINT and G == 3:  # LN Eq. 26: two gates of a GRU share statistics, the candidate does not
        mean = (means[0] + means[1]) / 2
        means = (mean, mean, means[2])
    return means


@triton.jit
def _squared_deviations(a, mean, tile, G: tl.constexpr):
    squares = ()
    for k in tl.static_range(G):
        deviation = tl.where(tile.inside, a[k] - mean[k], 0.0)
        squares += (deviation * deviation,)
    return squares


@triton.jit
def _times(values, factor: tl.constexpr, G: tl.constexpr):
    out = ()
    for k in tl.static_range(G):
        out += (values[k] * factor,)
    return out


@triton.jit
def _deviations(a, mean, rstd, G: tl.constexpr):
    n = ()
    for k in tl.static_range(G):
        n += ((a[k] - mean[k]) * rstd[k],)
    return n


@triton.jit
def _lines(tile, B, H: tl.constexpr, KIND: tl.constexpr):
    """Return the indices of the tile's lines, which of these lines exist, and the number of all lines."""
    if KIND == LAYER_NORM or KIND == RMS_NORM:  # noqa: SIM109, as Triton knows no membership
        lines, count = tile.rows, B
    else:
        lines, count = tile.units, H
    return lines, lines < count, count


@triton.jit
def _keep(site, which: tl.constexpr, values, tile, B, H: tl.constexpr, G: tl.constexpr, KIND: tl.constexpr):
    lines, there, count = _lines(tile, B, H, KIND)
    for k in tl.static_range(G):
        tl.store(site.statistics + (which * G + k) * count + lines, values[k], there)


@triton.jit
def _load_kept(site, which: tl.constexpr, tile, B, H: tl.constexpr, G: tl.constexpr, KIND: tl.constexpr):
    lines, there, count = _lines(tile, B, H, KIND)
    values = ()
    for k in tl.static_range(G):
        values += (tl.load(site.statistics + (which * G + k) * count + lines, there, 0.0),)
    return values
