"""Run of one seed of a spec: a training or an analysis."""

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
    """Train or analyse, and yield events; see ``normcore.training.loop.train`` and ``normcore.analyse.analyse``.

    The machine is probed as a training begins and as the training ends (``normcore.probe``).

    Args:
        checkpoint: checkpoint from which a training goes on; not used by an analysis.
        trained: content of ``model.pt`` for the analysis of a trained model; not used by a training.
    """
    if isinstance(spec, AnalysisSpec):
        return analyse(spec, seed, device=device, datasets_dir=datasets_dir, threads=threads, trained=trained)
    assert isinstance(spec, TrainingSpec)
    events = train(spec, seed, device=device, datasets_dir=datasets_dir, threads=threads, checkpoint=checkpoint)
    return _add_probes(events, torch.device(device))


def _add_probes(events: Iterator[Event], device: torch.device) -> Iterator[Event]:
    """Add probes of the machine (``normcore.probe``) to the events of a training.

    Between two events torch keeps the settings of the training, such as its threads. The first probe comes after the
    first update, so that the first progress of the run does not wait for a probe.
    """
    has_begun = False
    for event in events:
        if isinstance(event, Finished):
            if not has_begun:  # the training went on from a checkpoint of its last update
                yield Probed(probe(device))
            yield replace(event, timing=replace(event.timing, probe=probe(device)))
            return
        yield event
        if isinstance(event, Stepped) and not has_begun:
            has_begun = True
            yield Probed(probe(device))
