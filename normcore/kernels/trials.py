"""What trials of fused kernels on the devices of this machine have found, kept in the user's cache directory.

A trial is of one cell and method on one kind of device, with these versions of torch, triton and the kernels' sources.
``normcore.kernels.gpu.trial`` makes one; this module needs no triton.
"""

import hashlib
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import filelock
import platformdirs
import torch

SOURCES = Path(__file__).parent / "gpu"
WAIT_SECONDS = 30.0  # for another process to write what it found


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a trial found.

    Attributes:
        wrong: what the kernels compute otherwise than the reference, or how they broke; None if nothing.
        speedup: the reference's time over theirs, the least of what was timed; None if they are wrong.
    """

    wrong: str | None
    speedup: float | None

    @property
    def passed(self) -> bool:
        """Whether the kernels are right, and faster than the reference."""
        return self.wrong is None and self.speedup is not None and self.speedup > 1

    def __str__(self) -> str:
        return f"wrong: {self.wrong}" if self.wrong is not None else f"{self.speedup:.2g} times as fast"


Pair = tuple[str, str]
"""Tags of a cell and of a method."""


def verdicts(device: torch.device) -> Mapping[Pair, Verdict]:
    """What is known of devices of this kind. A file that cannot be read knows nothing."""
    with suppress(OSError, ValueError, TypeError, AttributeError):
        stored = json.loads(_place(device).read_text(encoding="utf-8"))
        return {_pair(name): Verdict(**found) for name, found in stored["verdicts"].items()}
    return {}


def summary(device: torch.device) -> str:
    """What is known, in a line: ``14 of 15 are right and faster than the reference; gru with none is wrong: …``."""
    known = verdicts(device)
    others = [f"{cell} with {method} is {found}" for (cell, method), found in known.items() if not found.passed]
    told = f"{len(known) - len(others)} of {len(known)} are right and faster than the reference"
    return "; ".join([told, *others])


def keep(device: torch.device, pair: Pair, verdict: Verdict) -> None:
    """Add a verdict to what is known, on the disk; one that is known already stays.

    Raises:
        OSError: the cache directory cannot be written.
    """
    place = _place(device)
    place.parent.mkdir(parents=True, exist_ok=True)
    with filelock.FileLock(f"{place}.lock", timeout=WAIT_SECONDS):
        known = {pair: verdict, **verdicts(device)}
        named = {" ".join(of): asdict(found) for of, found in sorted(known.items())}
        unfinished = place.with_suffix(f".{os.getpid()}")
        unfinished.write_text(json.dumps({"tried": _tried(device), "verdicts": named}, indent=2), encoding="utf-8")
        unfinished.replace(place)


def _pair(name: str) -> Pair:
    cell, method = name.split(" ")
    return cell, method


def _place(device: torch.device) -> Path:
    digest = hashlib.sha256(json.dumps(_tried(device)).encode()).hexdigest()[:16]
    return platformdirs.user_cache_path("normbench") / "kernels" / f"trials-{digest}.json"


def _tried(device: torch.device) -> dict[str, str]:
    """What a verdict is about, and holds for."""
    name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    try:
        triton = version("triton")
    except PackageNotFoundError:
        triton = "none"
    return {"device": name, "torch": torch.__version__, "triton": triton, "sources": _sources()}


@cache
def _sources() -> str:
    digest = hashlib.sha256()
    for source in sorted(SOURCES.rglob("*.py")):
        digest.update(source.name.encode() + b"\0" + source.read_bytes() + b"\0")
    return digest.hexdigest()
