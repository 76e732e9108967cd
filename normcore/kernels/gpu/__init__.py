"""The recurrence in Triton, for CUDA devices; nobody imports this but where one is asked for.

``device/`` has what runs there. ``steps.py`` launches one product and one kernel a step; ``sequence.py`` one kernel for
all steps, where W_h fits on the chip. ``unroll.py`` is the door, ``recurrence.py`` what it gives to autograd.
``docs/develop/kernels-gpu.md`` tells why they are as they are.
"""

import triton

from normcore.spec.kernels import TRITON

if ".".join(triton.__version__.split(".")[:2]) not in TRITON:
    raise ImportError(f"expected triton {' or '.join(TRITON)}, received {triton.__version__}")

from normcore.kernels.gpu.unroll import unroll

__all__ = ["unroll"]
