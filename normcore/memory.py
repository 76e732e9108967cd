"""Setting of the C library's memory allocator in this process."""

import ctypes
import sys

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # of malloc.h


def keep_freed_memory() -> None:
    """Make the C library keep freed memory for later allocations, until this process ends.

    By default glibc returns large blocks to the kernel and asks for them again, page by page, at every operation. That
    takes a quarter of the time of a training whose states have some hundred kilobytes. Nothing changes on systems other
    than Linux with glibc.
    """
    if sys.platform != "linux":
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_MAX, 0)
        mallopt(M_TRIM_THRESHOLD, -1)
