"""One seed of a spec, whatever its kind."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import torch

from normcore.analyse import analyse
from normcore.events import Event, Finished, Probed, Stepped
from normcore.probe import probe
from normcore.spec import AnalysisSpec, ExperimentSpec, TrainingSpec
from normcore.training.loop import train


def run(
    spec: ExperimentSpec,
    seed: int,
    *,
    device: str | torch.device = "cpu",
    datasets_dir: Path | None = None,
    threads: int = 1,
    checkpoint: bytes | None = None,
    trained: bytes | None = None,
) -> Iterator[Event]:
    """Train or analyse, telling what happens; see ``normcore.training.loop.train`` and ``normcore.analyse.analyse``.

    As a training begins and as it ends the machine is probed.

    Args:
        checkpoint: of a training; an analysis begins anew.
        trained: the model for an analysis of one.
    """
    if isinstance(spec, AnalysisSpec):
        return analyse(spec, seed, device=device, datasets_dir=datasets_dir, threads=threads, trained=trained)
    assert isinstance(spec, TrainingSpec)
    events = train(spec, seed, device=device, datasets_dir=datasets_dir, threads=threads, checkpoint=checkpoint)
    return _probed(events, torch.device(device))


def _probed(events: Iterator[Event], device: torch.device) -> Iterator[Event]:
    """Between two events torch is still as the training has set it up, threads included.

    The first probe comes after the first update, so that nobody who waits for the run to move waits for a probe.
    """
    has_begun = False
    for event in events:
        if isinstance(event, Finished):
            if not has_begun:  # it went on from a checkpoint of its last update
                yield Probed(probe(device))
            yield replace(event, timing=replace(event.timing, probe=probe(device)))
            return
        yield event
        if isinstance(event, Stepped) and not has_begun:
            has_begun = True
            yield Probed(probe(device))
