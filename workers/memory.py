"""The memory of this machine that a worker gives a training, and what happens if a training wants more.

On the CPU an allocation beyond this limit fails in the training process, which can then report it. A training that
exceeds the limit nevertheless is killed by its worker, or by the kernel, which kills trainings before all other
processes.
"""

import errno
import os
import resource
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

PAGE = os.sysconf("SC_PAGE_SIZE")
CGROUPS, OWN_CGROUPS, VMSTAT = Path("/sys/fs/cgroup"), Path("/proc/self/cgroup"), Path("/proc/vmstat")
RESERVE = (640 << 20, 2 << 30)  # bytes for the rest of the machine: an eighth of its memory, within these limits
FIRST_VICTIM = 1000  # the highest oom_score_adj
WORDS = ("can't allocate memory", "Cannot allocate memory", "out of memory", "std::bad_alloc", "ALLOC_FAILED")
TO_BLAME = 0.75  # share of its limit; a training that took less was killed because of others


def for_training(limit: int | None, workers: Iterable[int]) -> int:
    """Bytes that a training may take: ``limit`` if it is set; else an equal share, for each worker, of the memory of
    the machine or its cgroup.

    Args:
        limit: the setting ``memory_limit``.
        workers: process ids of the workers that are registered on this machine. Workers that are gone take no share.
    """
    if limit is not None:
        return limit
    there_is = min([os.sysconf("SC_PHYS_PAGES") * PAGE, *cgroup_limits()])
    least, most = RESERVE  # an API and workers, one that stands by included, take 620 MiB
    reserve = min(max(there_is // 8, least), most, 2 * there_is // 3)
    sharing = {os.getpid(), *(pid for pid in workers if _is_alive(pid))}
    return (there_is - reserve) // len(sharing)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # the process belongs to another user
        return True
    return True


def cgroup_limits(root: Path = CGROUPS, own: Path = OWN_CGROUPS) -> list[int]:
    """Memory limits of this process' control groups, of version 1 and 2, and of their parents. In a container, the path
    that the kernel gives may not exist below ``root``; then the limit of ``root`` is the container's.
    """
    found = []
    for line in _text(own).splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers in ("", "memory"):
            base, name = (root, "memory.max") if not controllers else (root / "memory", "memory.limit_in_bytes")
            group = base / path.lstrip("/")
            found += [folder / name for folder in (group, *group.parents) if folder.is_relative_to(base)]
    return [int(limit) for limit in (_text(file).strip() for file in found) if limit.isdigit()]


def restrict(memory: int, device: str) -> None:
    """Limit this training process to ``memory`` bytes, and let the kernel kill it before all other processes. CUDA
    reserves far more than it uses, so on a GPU only the worker watches the memory.
    """
    with suppress(OSError):  # not Linux
        Path("/proc/self/oom_score_adj").write_text(str(FIRST_VICTIM))
    if device == "cpu":
        mapped, taken = _status("self", "VmData"), _count_taken_bytes("self")
        if mapped and taken:
            _set_data_limit(mapped + max(memory - taken, 0))


def forgive() -> None:
    """Lift the memory limit, so that a training that has reached the limit can report it."""
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (most, most))


def _set_data_limit(size: int) -> None:
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (size if most == resource.RLIM_INFINITY else min(size, most), most))


def ran_out(error: BaseException) -> bool:
    """Tell if an error says that memory ran out, or was raised because of such an error. The error may be Python's,
    torch's, the operating system's or CUDA's, or come from our kernels.
    """
    return _says_so(error) or any(ran_out(cause) for cause in (error.__cause__, error.__context__) if cause)


def _says_so(error: BaseException) -> bool:
    if isinstance(error, MemoryError) or type(error).__name__ in ("OutOfMemoryError", "KernelFailed"):
        return True
    if isinstance(error, OSError) and error.errno == errno.ENOMEM:
        return True
    return isinstance(error, (OSError, RuntimeError)) and any(words in str(error) for words in WORDS)


class MemoryWatch:
    """Memory of a training, as its worker sees it.

    Args:
        pid: id of the training process.
        limit: bytes that the training may take.
        vmstat: file in which the kernel counts the processes of the whole machine that it killed because memory ran
            out.

    Attributes:
        peak: the most bytes that the training was seen to take.
    """

    def __init__(self, pid: int, limit: int, vmstat: Path = VMSTAT) -> None:
        self.peak = 0
        self._pid, self._limit, self._vmstat = pid, limit, vmstat
        self._kills = self._kernel_kills()

    def excess(self) -> str | None:
        """Reason why the training must end: it takes more memory than its limit. None if it does not, or has ended."""
        taken = _count_taken_bytes(str(self._pid))
        self.peak = max(self.peak, taken)
        return self._compare_with_limit(taken) if taken > self._limit else None

    def explain_kernel_kill(self) -> str | None:
        """Text with the memory that the training took, if the operating system has killed a process of this worker for
        lack of memory since the training began; else None.
        """
        return self._compare_with_limit(self.peak) if self._kernel_kills() > self._kills else None

    @property
    def is_to_blame(self) -> bool:
        """Tell if the training took about its memory limit. If it took far less, other processes have filled the
        machine.
        """
        return self.peak >= TO_BLAME * self._limit

    def _compare_with_limit(self, taken: int) -> str:
        return f"the training took {in_words(taken)}, and its worker gives it {in_words(self._limit)}"

    def _kernel_kills(self) -> int:
        told = (line.split() for line in _text(self._vmstat).splitlines())
        return next((int(number) for name, number in told if name == "oom_kill"), 0)


def in_words(size: int) -> str:
    """Size as text: 1,024 MiB."""
    return f"{size / (1 << 20):,.0f} MiB"


def _count_taken_bytes(pid: str) -> int:
    """Bytes of memory that a process takes. Pages of files do not count, because the kernel drops them when it needs
    memory.
    """
    return _status(pid, "RssAnon") + _status(pid, "RssShmem")


def _status(pid: str, name: str) -> int:
    """Bytes in one field of a process' status; 0 if the field is missing."""
    told = (line.partition(":") for line in _text(Path(f"/proc/{pid}/status")).splitlines())
    return next((int(value.split()[0]) * 1024 for field, _, value in told if field == name), 0)


def _text(file: Path) -> str:
    """Read a file; the text is empty if there is no such file."""
    with suppress(OSError):
        return file.read_text()
    return ""
