"""The memory of this machine that a worker gives a training, and what happens if a training wants more.

On the CPU an allocation beyond it fails in the training process, which can then say so. What grows past it nevertheless
is killed by its worker, or by the kernel, whose first victim a training is.
"""

import errno
import os
import resource
from contextlib import suppress
from pathlib import Path

PAGE = os.sysconf("SC_PAGE_SIZE")
CGROUPS, OWN_CGROUPS, VMSTAT = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup"), Path("/proc/vmstat")
LARGEST_RESERVE = 2 << 30  # bytes for all else on the machine: an eighth of it, at most this
FIRST_VICTIM = 1000  # the highest oom_score_adj
WORDS_OF_TORCH = ("can't allocate memory", "out of memory", "std::bad_alloc", "ALLOC_FAILED")


def for_trainings(limit: int | None) -> int:
    """Bytes that a training may take: the setting's, or those of the machine or its cgroup less a reserve."""
    if limit is not None:
        return limit
    there_is = min([os.sysconf("SC_PHYS_PAGES") * PAGE, *cgroup_limits()])
    return there_is - min(there_is // 8, LARGEST_RESERVE)


def cgroup_limits(root: Path = CGROUPS, own: Path = OWN_CGROUPS) -> list[int]:
    """The limits of this process' control groups, of version 1 and 2, and of those around them. In a container the
    path that the kernel tells may not exist below ``root``; then the root's own limit is the container's."""
    found = []
    for line in _text(own).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers in ("", "memory"):
            base, name = (root, "memory.max") if not controllers else (root / "memory", "memory.limit_in_bytes")
            group = base / path.lstrip("/")
            found += [folder / name for folder in (group, *group.parents) if folder.is_relative_to(base)]
    return [int(limit) for limit in (_text(file).strip() for file in found) if limit.isdigit()]


def restrict(memory: int, device: str) -> None:
    """Bound this process, a training, to so many bytes, and let the kernel kill it before all others. CUDA reserves
    far more than it uses, so a training on a GPU has no bound but its worker's watch."""
    with suppress(OSError):  # not Linux
        Path("/proc/self/oom_score_adj").write_text(str(FIRST_VICTIM))
    if device == "cpu":
        mapped, resident = _status("VmData"), _status("VmRSS")
        if mapped and resident:
            _set_data_limit(mapped + max(memory - resident, 0))


def forgive() -> None:
    """Lift the bound, so that a training that has reached it can tell."""
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def _set_data_limit(size: int) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (size if most == resource.RLIM_INFINITY else min(size, most), most))


def ran_out(error: BaseException) -> bool:
    """Whether an error says that there is no memory: Python's, torch's, a kernel's or CUDA's."""
    if isinstance(error, MemoryError) or type(error).__name__ in ("OutOfMemoryError", "KernelFailed"):
        return True
    if isinstance(error, OSError):
        return error.errno == errno.ENOMEM
    return isinstance(error, RuntimeError) and any(words in str(error) for words in WORDS_OF_TORCH)


class MemoryWatch:
    """What a worker sees of its training's memory.

    Args:
        pid: of the training process.
        limit: bytes that it may take.
        vmstat: where the kernel counts the processes that it killed for want of memory.
    """

    def __init__(self, pid: int, limit: int, vmstat: Path = VMSTAT) -> None:
        self._pid, self._limit, self._vmstat = pid, limit, vmstat
        self._kills = self._kernel_kills()

    def excess(self) -> str | None:
        """Why the training must end; None if it is within its limit, or has ended."""
        taken = _resident(self._pid)
        if taken <= self._limit:
            return None
        return f"the training took {in_words(taken)}, and its worker gives it {in_words(self._limit)}"

    def killed_by_kernel(self) -> bool:
        """Whether the kernel has killed something for want of memory since the training began."""
        return self._kernel_kills() > self._kills

    def _kernel_kills(self) -> int:
        told = (line.split() for line in _text(self._vmstat).splitlines())
        return next((int(number) for name, number in told if name == "oom_kill"), 0)


def in_words(size: int) -> str:
    """So many bytes, as 1,024 MiB."""
    return f"{size / (1 << 20):,.0f} MiB"


def _resident(pid: int) -> int:
    numbers = _text(Path(f"/proc/{pid}/statm")).split()
    return int(numbers[1]) * PAGE if len(numbers) > 1 else 0


def _status(name: str) -> int:
    """Bytes of this process, from its status; 0 if it is not told."""
    told = (line.partition(":") for line in _text(Path("/proc/self/status")).splitlines())
    return next((int(value.split()[0]) * 1024 for field, _, value in told if field == name), 0)


def _text(file: Path) -> str:
    """The file's content; empty if it is not there."""
    with suppress(OSError):
        return file.read_text()
    return ""
