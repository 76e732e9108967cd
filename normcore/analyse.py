"""An analysis, as a generator of events like a training. It takes seconds, so nothing is kept to resume it."""

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
from normcore.kernels import running
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
    """Do one analysis, telling what happens.

    Curves come when all work is done, in the order of their steps, as listeners expect of measurements. ``prepare`` of
    the module that implements the task, in ``normcore/analyses/`` if it is ours, says what there is to do.

    Args:
        seed: decides weights, data and noise where they are drawn.
        trained: ``model.pt`` of the run that the task names, if it names one.

    Raises:
        DatasetMissing, DatasetCorrupt: the task's data is not at hand.
        ValueError: the spec does not go with its data or its model, or there is no such device.
    """
    device = usable_device(device)
    with reproducible(seed, device, threads):
        clock = Clock(device)
        clock.start()
        prepare = ANALYSES.implementation(spec.task, "prepare")
        work = cast(Work, prepare(spec, seed, Resources(device, datasets_dir, trained)))
        clock.stop()
        yield _started(spec, work, threads)
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


def _started(spec: AnalysisSpec, work: Work, threads: int) -> Started:
    kernel, kernels = ("reference", None) if work.model is None else running(work.model, work.device)
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
    """The finite points of all curves, by x."""
    values: dict[int, dict[str, float]] = {}
    for name, points in curves.items():
        for x, y in points:
            if math.isfinite(y):
                values.setdefault(x, {})[name] = y
    yield from sorted(values.items())
