"""Kernels of a run: the kernels of all attempts since the run last started from the beginning.

An attempt may resume on another worker, which has no fused kernels, or has them for other instructions. Then
measurements before the checkpoint are by one kernel and later ones by the other, and the run's seconds are by both.
"""

from typing import Any

from normcore.events import Started
from service.experiments.tables import Run


def combine_kernels(run: Run, started: Started, *, resumes: bool) -> tuple[str | None, dict[str, Any], list[str]]:
    """Kernels of a run whose attempt has started. Several kernels are written like those of a model that uses several.

    Returns:
        The kernels; the attempt's environment, in which ``kernels`` says what all the kernels were compiled for; and
            notes for the run's history, if there are more kernels than before.
    """
    environment = dict(started.environment)
    if not resumes:
        return started.kernel, environment, []
    before = run.environment or {}
    kernel = _unite_lists(" ", run.kernel, started.kernel)
    compiled = _unite_lists("; ", before.get("kernels"), environment.get("kernels"))
    is_new = run.kernel is not None and (kernel, compiled) != (run.kernel, before.get("kernels"))
    earlier, own = _describe_kernel(run.kernel, before), _describe_kernel(started.kernel, environment)
    notes = [f"training goes on by kernel {own}, after {earlier}"] if is_new else []
    return kernel, environment | ({"kernels": compiled} if compiled else {}), notes


def _unite_lists(separator: str, *lists: str | None) -> str | None:
    return separator.join(sorted({part for parts in lists if parts for part in parts.split(separator)})) or None


def _describe_kernel(kernel: str | None, environment: dict[str, Any]) -> str:
    compiled = environment.get("kernels")
    return f"{kernel} ({compiled})" if compiled else f"{kernel}"
