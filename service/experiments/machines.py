"""Machine of a run: the part of the run's environment on which its seconds depend, and how quiet the machine was."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from normcore.own_code import own_code


def hardware(environment: Mapping[str, Any]) -> str:
    """Name the GPU, or else the processor with its number of threads. Seconds may be compared only on the same
    hardware.
    """
    if environment.get("gpu"):
        return str(environment["gpu"])
    threads = environment.get("threads", 1)
    return f"{environment.get('cpu', 'unknown')}, {threads} thread{'' if threads == 1 else 's'}"


def machine(environment: Mapping[str, Any]) -> str:
    """Name the host and its hardware. On one machine, a seed of a spec gives the same numbers each time."""
    return f"{environment.get('host', 'unknown')}: {hardware(environment)}"


@dataclass(frozen=True, slots=True)
class Start:
    """Circumstances of a training's start: machine, code, and the speed of the reference kernel.

    Attributes:
        machine: host and hardware, see ``machine``.
        torch: version of torch, which decides how fast the reference kernel is.
        probe: seconds of the reference kernel at the start. If several attempts started, the slowest start counts.
            Empty before the first probe.
        moved: whether earlier attempts trained on another machine.
        code: digest of the code of the spec's own parts, see ``normcore.own_code``; None in checkpoints that are older
            than this field.
    """

    machine: str
    torch: str
    probe: Sequence[float] = ()
    moved: bool = False
    code: str | None = None

    @classmethod
    def of(cls, environment: Mapping[str, Any]) -> "Start":
        return cls(machine(environment), str(environment.get("torch")), code=own_code(environment))

    def after(self, earlier: "Start") -> "Start":
        """Combine this start with the start of an earlier attempt of the same run."""
        return replace(self, probe=earlier.probe, moved=earlier.moved or earlier.machine != self.machine)

    def add_probe(self, seconds: Sequence[float]) -> "Start":
        """Add a probe. The slower of two probes counts."""
        return replace(self, probe=max(filter(None, (self.probe, seconds)), key=median))
