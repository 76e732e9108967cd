"""Verdicts on fused kernels, from checks on the devices of this machine. They are stored in the user's cache directory.

A check runs one cell with one method on one kind of device, with the present versions of torch, triton and the
kernels' sources. ``check.py`` makes the checks.
"""

import hashlib
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import filelock
import platformdirs
import torch
from pydantic import TypeAdapter

SOURCES = Path(__file__).parent
MARGIN = 1.1  # kernels must be faster by this factor: less may be noise


@dataclass(frozen=True, slots=True)
class KernelVerdict:
    """Verdict of a check.

    Attributes:
        wrong: which result of the kernels differs from the reference; None if all agree.
        speedup: the reference's time divided by the kernels' time, the smallest of all timings; None if the kernels are
            wrong.
    """

    wrong: str | None
    speedup: float | None

    @property
    def passed(self) -> bool:
        """Tell if the kernels are right, and clearly faster than the reference."""
        return self.wrong is None and self.speedup is not None and self.speedup > MARGIN

    def __str__(self) -> str:
        return f"wrong: {self.wrong}" if self.wrong is not None else f"{self.speedup:.2g} times as fast"


Pair = tuple[str, str]
"""Tags of a cell and of a method."""


@dataclass(frozen=True, slots=True)
class VerdictsFile:
    """Content of the file of verdicts on fused kernels.

    Attributes:
        tried: device, versions and sources with which the kernels were tried.
        verdicts: verdicts by the tags of a cell and of a method, separated by a space.
    """

    tried: dict[str, str]
    verdicts: dict[str, KernelVerdict]


STORED = TypeAdapter(VerdictsFile)


def read(device: torch.device) -> Mapping[Pair, KernelVerdict]:
    """Read the verdicts on kernels for devices of this kind. A file that cannot be read counts as empty."""
    try:
        stored = STORED.validate_json(_place(device).read_bytes(), strict=True)
        return {_pair(name): found for name, found in stored.verdicts.items()}
    except (OSError, ValueError):
        return {}


def summary(device: torch.device) -> str:
    """Describe the verdicts in one line: ``14 of 15 are right and faster than the reference; gru with none is wrong:
    …``.
    """
    known = read(device)
    others = [f"{cell} with {method} is {found}" for (cell, method), found in known.items() if not found.passed]
    told = f"{len(known) - len(others)} of {len(known)} are right and faster than the reference"
    return "; ".join([told, *others])


def store(device: torch.device, pair: Pair, verdict: KernelVerdict) -> None:
    """Add a verdict to the file of verdicts. Call this function only inside ``exclusive``.

    Raises:
        OSError: the cache directory cannot be written.
    """
    place = _place(device)
    named = {" ".join(of): found for of, found in sorted({**read(device), pair: verdict}.items())}
    unfinished = place.with_suffix(f".{os.getpid()}")
    unfinished.write_bytes(STORED.dump_json(VerdictsFile(_describe_check(device), named), indent=2))
    unfinished.replace(place)


@contextmanager
def exclusive(device: torch.device) -> Iterator[None]:
    """Wait until no other process on this machine tries kernels on devices of this kind, and keep others out inside
    this context.

    Raises:
        OSError: the cache directory cannot be written.
    """
    place = _place(device)
    place.parent.mkdir(parents=True, exist_ok=True)
    with filelock.FileLock(f"{place}.lock"):
        yield


def _pair(name: str) -> Pair:
    cell, method = name.split(" ")
    return cell, method


def _place(device: torch.device) -> Path:
    digest = hashlib.sha256(json.dumps(_describe_check(device)).encode()).hexdigest()[:16]
    return platformdirs.user_cache_path("normbench") / "kernels" / f"checks-{digest}.json"


def _describe_check(device: torch.device) -> dict[str, str]:
    """Return what a verdict depends on: the device, the sources and the versions."""
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
