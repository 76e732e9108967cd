"""The recurrence in C++, for the CPU: built on this machine, or beforehand, and loaded with ctypes.

``src/`` has one source per concern, from ``vector.hpp`` (vectors, tanh, sigmoid) and ``product.hpp`` (products of
matrices) over ``cells.hpp`` and ``norms.hpp`` (the papers' equations) to ``forward.hpp`` and ``backward.hpp``.
``docs/develop/kernels.md`` tells why they are as they are.
"""

from normcore.kernels.cpu.load import KernelsMissing, built_by, load
from normcore.kernels.cpu.unroll import KernelFailed, unroll

__all__ = ["KernelFailed", "KernelsMissing", "built_by", "load", "unroll"]
