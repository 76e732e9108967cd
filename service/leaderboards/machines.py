"""Where a run's seconds were spent, from its environment: what of it decides with whose they compare."""

from collections.abc import Mapping
from typing import Any


def hardware(environment: Mapping[str, Any]) -> str:
    """The processor, and how many threads computed on it if it is no GPU; seconds compare within one alone."""
    if environment.get("gpu"):
        return str(environment["gpu"])
    threads = environment.get("threads", 1)
    return f"{environment.get('cpu', 'unknown')}, {threads} thread{'' if threads == 1 else 's'}"


def machine(environment: Mapping[str, Any]) -> str:
    """One host's hardware, on which one seed of a spec gives the same numbers each time."""
    return f"{environment.get('host', 'unknown')}: {hardware(environment)}"
