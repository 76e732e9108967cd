"""Structures that the compiled kernels read. ``src/recurrence.hpp`` has the same fields in the same order.

Shapes: T steps, B examples, F inputs, H hidden units, G gates.
"""

import ctypes

from torch import Tensor

POINTER, INTEGER = ctypes.c_void_p, ctypes.c_int64


class Site(ctypes.Structure):
    _fields_ = [
        ("normalized", INTEGER),
        ("gain", POINTER),
        ("shift", POINTER),
        ("eps", ctypes.c_double),
        ("mean", POINTER),
        ("var", POINTER),
        ("known", INTEGER),
        ("first", INTEGER),
        ("statistics", POINTER),
        ("moments", POINTER),
        ("grad_gain", POINTER),
        ("grad_shift", POINTER),
    ]


class Recurrence(ctypes.Structure):
    _fields_ = [
        *[(name, INTEGER) for name in ("steps", "batch", "inputs", "hidden", "threads", "method")],
        *[(name, INTEGER) for name in ("together", "per_gate", "carries_normalized", "bias_inside", "bias_outside")],
        *[(name, POINTER) for name in ("x", "h0", "c0", "weight_ih", "weight_hh", "bias", "bias_hh", "mask")],
        *[(name, Site) for name in ("input", "recurrent", "cell")],
        *[(name, POINTER) for name in ("y", "end_h", "end_c", "kept_recurrent", "kept_input", "kept_c", "longest_h")],
        *[(name, POINTER) for name in ("grad_y", "grad_h", "grad_c")],
        *[(name, POINTER) for name in ("grad_x", "grad_h0", "grad_c0")],
        *[(name, POINTER) for name in ("grad_weight_ih", "grad_weight_hh", "grad_bias", "grad_bias_hh")],
    ]


def address(tensor: Tensor | None) -> int | None:
    """Address of the tensor's first number. The tensor must be contiguous, and outlive the call."""
    return None if tensor is None else tensor.data_ptr()
