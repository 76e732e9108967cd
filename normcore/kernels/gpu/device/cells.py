"""One step of each cell and its gradient, for one tile of units. The step starts from the two terms of the summed
inputs, which are already normalized and shifted.
"""

import triton
import triton.language as tl


@triton.jit
def tanh(x):
    """Compute tanh to the last place: x + x^3 P(x^2) / Q(x^2) for small x, by the exponential for others.

    The coefficients are those of Moshier's Cephes library, good to the last place of float64.
    """
    s = x * x
    p = (-9.64399179425052238628e-1 * s - 9.92877231001918586564e1) * s - 1.61468768441708447952e3
    q = ((s + 1.12811678491632931402e2) * s + 2.23548839060100448583e3) * s + 4.84406305325125486048e3
    size = tl.abs(x)
    large = 1 - 2 / (tl.exp(2 * size) + 1)
    return tl.where(size < 0.625, x + x * s * (p / q), tl.where(x < 0, -large, large))


@triton.jit
def sum_of_terms(x, r, G: tl.constexpr):
    """Add the input's term x and the recurrent term r. x is None if r already contains it."""
    if x is None:
        a = r
    else:
        a = ()
        for k in tl.static_range(G):
            a += (x[k] + r[k],)
    return a


@triton.jit
def lstm_gates(a):
    """Compute the gates σ(i), σ(f), tanh(g), σ(o) of an LSTM: LN Eq. 20, RBN Eq. 14."""
    return tl.sigmoid(a[0]), tl.sigmoid(a[1]), tanh(a[2]), tl.sigmoid(a[3])


@triton.jit
def lstm_cell(gates, c):
    """Compute an LSTM's new cell c' = f c + i g: LN Eq. 21, RBN Eq. 15."""
    return gates[1] * c + gates[0] * gates[2]


@triton.jit
def lstm_gradient(gates, c, dc, do):
    """Compute the gradients of an LSTM's summed inputs, from the gradients of c' and o."""
    i, f, g, o = gates
    return dc * g * i * (1 - i), dc * c * f * (1 - f), dc * i * (1 - g * g), do * o * (1 - o)


@triton.jit
def gru_gates(x, r):
    """Compute σ(r), σ(z) and the candidate n of a GRU: LN Eq. 26, 27."""
    reset = tl.sigmoid(x[0] + r[0])
    return reset, tl.sigmoid(x[1] + r[1]), tanh(x[2] + reset * r[2])


@triton.jit
def gru_state(gates, h):
    """Compute a GRU's new state h' = z h + (1 - z) n: LN Eq. 28."""
    z, n = gates[1], gates[2]
    return n + z * (h - n)


@triton.jit
def gru_gradient(gates, r, h, dh):
    """Compute the gradients of a GRU's input term and recurrent term, from the gradient of h'. These two gradients
    differ for the candidate."""
    reset, z, n = gates
    dn = dh * (1 - z) * (1 - n * n)
    dreset = dn * r[2] * reset * (1 - reset)
    dz = dh * (h - n) * z * (1 - z)
    return (dreset, dz, dn), (dreset, dz, dn * reset)
