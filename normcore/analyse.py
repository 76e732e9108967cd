"""Run of an analysis, as a generator of events. An analysis takes seconds, so it writes no checkpoints."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

import torch

from normcore.analyses.report import Resources, Work
from normcore.clock import Clock
from normcore.environment import environment, usable_device
from normcore.events import Advanced, Analysed, Event, Finding, Measured, Started
from normcore.kernels import describe_kernel
from normcore.own_code import code_of
from normcore.seeding import reproducible
from normcore.spec import AnalysisSpec
from normcore.spec.analyses import ANALYSES
from normcore.spec.methods import METHODS


def analyse(
    spec: AnalysisSpec,
    seed: int,
    *,
    device: str | torch.device = "cpu",
    datasets_dir: Path | None = None,
    threads: int = 1,
    trained: bytes | None = None,
) -> Iterator[Event]:
    """Do one analysis and yield its events.

    The points of all curves come after the work is done, ordered by step, as listeners expect of measurements. The
    function ``prepare`` in the module that implements the task lists the work. For our own analyses that module is in
    ``normcore/analyses/``.

    Args:
        seed: seed of all random weights, data and noise.
        trained: content of ``model.pt`` of the run that the task names; None if the task names no run.

    Raises:
        DatasetMissing, DatasetCorrupt: the task's data are missing or damaged.
        ValueError: the spec does not fit its data or its model, or the device does not exist.
    """
    device = usable_device(device)
    with reproducible(seed, device, threads):
        clock = Clock(device)
        clock.start()
        prepare = ANALYSES.implementation(spec.task, "prepare")
        work = cast(Work, prepare(spec, seed, Resources(device, datasets_dir, trained)))
        clock.stop()
        yield _describe_start(spec, work, threads)
        findings: list[Finding] = []
        curves: dict[str, list[tuple[int, float]]] = {}
        for step, piece in enumerate(work.pieces, 1):
            clock.start()
            report = piece()
            seconds = clock.stop_when_done()
            findings += map(_finite, report.findings)
            for name, points in report.curves.items():
                curves.setdefault(name, []).extend(points)
            yield Advanced(step, seconds)
        for x, values in _by_x(curves):
            yield Measured(x, clock.seconds, values)
        yield Analysed(tuple(findings), clock.seconds)


def _describe_start(spec: AnalysisSpec, work: Work, threads: int) -> Started:
    kernel, kernels = ("reference", None) if work.model is None else describe_kernel(work.model, work.device)
    return Started(
        step=0,
        max_steps=len(work.pieces),
        kernel=kernel,
        parameters=0,
        environment={
            **environment(work.device, threads, kernels),
            "code": code_of(spec),
            "method": spec.norm and METHODS.origin(spec.norm.method),
            "data": dict(work.checksums),
        },
    )


def _finite(finding: Finding) -> Finding:
    value = finding.value
    return finding if value is None or math.isfinite(value) else replace(finding, value=None)


def _by_x(curves: Mapping[str, Sequence[tuple[int, float]]]) -> Iterator[tuple[int, dict[str, float]]]:
    """Yield each x, in order, with the finite values that the curves have at this x."""
    values: dict[int, dict[str, float]] = {}
    for name, points in curves.items():
        for x, y in points:
            if math.isfinite(y):
                values.setdefault(x, {})[name] = y
    yield from sorted(values.items())
