"""The recurrence in Triton for CUDA devices. This package is imported only if a run asks for such a device.

``device/`` has the code that runs on the device. ``steps.py`` launches one product and one kernel for each step;
``sequence.py`` launches one kernel for all steps, if W_h fits on the chip. ``unroll.py`` is the entry,
``recurrence.py`` the function for autograd. ``docs/develop/kernels-gpu.md`` gives the reasons for this design.
"""

import triton

from normcore.spec.kernels import TRITON

if ".".join(triton.__version__.split(".")[:2]) not in TRITON:
    raise ImportError(f"expected triton {' or '.join(TRITON)}, received {triton.__version__}")

from normcore.kernels.gpu.unroll import unroll

__all__ = ["unroll"]
