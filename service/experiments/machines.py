"""Machine of a run: the part of its environment that its seconds depend on, and how quiet it was."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

from normcore.own_code import own_code


def hardware(environment: Mapping[str, Any]) -> str:
    """The processor, and how many threads computed on it if it is no GPU; seconds compare within one alone."""
    if environment.get("gpu"):
        return str(environment["gpu"])
    threads = environment.get("threads", 1)
    return f"{environment.get('cpu', 'unknown')}, {threads} thread{'' if threads == 1 else 's'}"


def machine(environment: Mapping[str, Any]) -> str:
    """One host's hardware, on which one seed of a spec gives the same numbers each time."""
    return f"{environment.get('host', 'unknown')}: {hardware(environment)}"


@dataclass(frozen=True, slots=True)
class Start:
    """Start of an attempt's training.

    Attributes:
        machine: see ``machine``.
        torch: its version, which decides how fast the reference kernel is.
        probe: seconds of the reference kernel as it began, of the slowest of these starts; nothing until then.
        moved: whether earlier attempts trained on another machine.
        code: of the spec's own parts, see ``normcore.own_code``; None in checkpoints that are older than this field.
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
        """The start of a run that an earlier attempt had begun."""
        return replace(self, probe=earlier.probe, moved=earlier.moved or earlier.machine != self.machine)

    def probed(self, seconds: Sequence[float]) -> "Start":
        """Add a probe. The slower one counts."""
        return replace(self, probe=max(filter(None, (self.probe, seconds)), key=median))
