"""Treatment of freed memory in this process."""

import ctypes
import sys

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4  # of malloc.h


def keep_freed_memory() -> None:
    """Have the C library keep what is freed for the next allocation, for the rest of this process's life.

    By default glibc hands large blocks back to the kernel and asks for them again, page by page, at every operation;
    that is a quarter of the time of a training whose states have some hundred kilobytes. Other systems than Linux
    with glibc are left as they are.
    """
    if sys.platform != "linux":
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(M_MMAP_MAX, 0)
        mallopt(M_TRIM_THRESHOLD, -1)
