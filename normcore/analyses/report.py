"""Contract of analyses: work in pieces, each of which gives curves and findings.

A module of an analysis has a function ``prepare(spec, seed, resources) -> Work``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import nn

from normcore.events import Finding
from normcore.spec import TrainingSpec, changes
from normcore.spec.methods.method import Method
from normcore.trained_model import Trained, load

CPU = torch.device("cpu")
NO_MATTER = frozenset({"training.kernel", "training.target"})  # fields of a spec that decide none of its numbers


@dataclass(frozen=True, slots=True)
class Resources:
    """Resources of an analysis.

    Attributes:
        device: what it may compute on.
        datasets_dir: where data sets live that do not come bundled.
        trained: the ``model.pt`` of the run that the task names, for analyses of trained models.
    """

    device: torch.device
    datasets_dir: Path | None = None
    trained: bytes | None = None

    def load_trained(self) -> Trained:
        """The trained model that the task is about.

        Raises:
            DatasetMissing, DatasetCorrupt: the data that it was trained on is not at hand.
            ValueError: it was not given, or cannot be used.
        """
        if self.trained is None:
            raise ValueError("this analysis is about a trained model; give it with --model model.pt")
        return load(self.trained, self.datasets_dir, self.device)


@dataclass(frozen=True, slots=True)
class Report:
    """Report of one piece of an analysis.

    Attributes:
        curves: points (x, y) by the name of the curve, x being a whole number; what is not finite is left out later.
    """

    findings: Sequence[Finding] = ()
    curves: Mapping[str, Sequence[tuple[int, float]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Work:
    """An analysis that is ready to be done.

    Attributes:
        pieces: to be done in this order.
        checksums: SHA-256 of all data that was read.
        device: what computes it. Small computations stay on the CPU wherever the run is, and find the same everywhere.
        model: a trained one that it runs, by the kernels that it has. All else is computed by the reference.
    """

    pieces: Sequence[Callable[[], Report]]
    checksums: Mapping[str, str] = field(default_factory=dict)
    device: torch.device = CPU
    model: nn.Module | None = None


def is_the_papers_run(spec: TrainingSpec, method: type[Method]) -> bool:
    """Tell if a run is one that the paper reports: its task's profile ``paper`` with nothing changed, and this
    method with its usual options. A paper's claim on a trained network is tested only on such runs.
    """
    changed = changes(spec).keys() - NO_MATTER
    return spec.task.profile == "paper" and isinstance(spec.norm, method) and not changed
