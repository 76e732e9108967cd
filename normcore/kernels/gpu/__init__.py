"""The recurrence in Triton for CUDA devices, and the checks of it on each kind of device.

``device/`` has the code that runs on the device. ``steps.py`` launches one product and one kernel for each step;
``sequence.py`` launches one kernel for all steps, if W_h fits on the chip. ``unroll.py`` is the entry,
``operator.py`` makes them operators of torch. ``check.py`` makes a check, and ``verdicts.py`` keeps its verdict.
``docs/develop/kernels-gpu.md`` gives the reasons for this design. Only the kernels import triton; this module and
``verdicts.py`` do not.
"""

from collections.abc import Callable

from normcore.recurrent.unroll import UnrolledCell
from normcore.spec.kernels import TRITON


def load_unroll() -> Callable[..., UnrolledCell]:
    """Import triton and the kernels, which takes seconds; return their ``unroll``.

    Raises:
        ImportError: there is no triton, or its version is not one of ``TRITON``.
    """
    import triton

    if ".".join(triton.__version__.split(".")[:2]) not in TRITON:
        raise ImportError(
            f"expected triton {' or '.join(TRITON)}, received {triton.__version__}; pip install normbench[gpu]"
        )
    from normcore.kernels.gpu.unroll import unroll

    return unroll
