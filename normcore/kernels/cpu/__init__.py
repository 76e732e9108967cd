"""The recurrence in C++ for the CPU. It is compiled on this machine, or in advance, and loaded with ctypes.

``src/`` has one source file for each concern: ``vector.hpp`` (vectors, tanh, sigmoid), ``product.hpp`` (products of
matrices), ``cells.hpp`` and ``norms.hpp`` (the papers' equations), ``forward.hpp`` and ``backward.hpp``, and others.
``docs/develop/kernels.md`` gives the reasons for this design.
"""

from normcore.kernels.cpu.load import KernelsMissing, describe_build, load
from normcore.kernels.cpu.operator import KernelFailed
from normcore.kernels.cpu.unroll import unroll

__all__ = ["KernelFailed", "KernelsMissing", "describe_build", "load", "unroll"]
