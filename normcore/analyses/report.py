"""Contract of analyses: an analysis is work in pieces, and each piece returns curves and findings.

The module of an analysis has a function ``prepare(spec, seed, resources) -> Work``.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import nn

from normcore.events import Finding
from normcore.spec import TrainingSpec, changes
from normcore.spec.methods.method import Method
from normcore.trained_model import TrainedModel, load

CPU = torch.device("cpu")
NO_MATTER = frozenset({"training.kernel", "training.target"})  # fields of a spec that do not change its results


@dataclass(frozen=True, slots=True)
class Resources:
    """Resources of an analysis.

    Attributes:
        device: device that the analysis may use.
        datasets_dir: folder of the data sets that do not come bundled; None if there is no such folder.
        trained: content of ``model.pt`` of the run that the task names; None for analyses without a trained model.
    """

    device: torch.device
    datasets_dir: Path | None = None
    trained: bytes | None = None

    def load_trained(self) -> TrainedModel:
        """Load the trained model that the analysis is about.

        Raises:
            DatasetMissing, DatasetCorrupt: the model's training data is not there, or not what it should be.
            ValueError: no trained model was given, or the model cannot be used.
        """
        if self.trained is None:
            raise ValueError("this analysis is about a trained model; give it with --model model.pt")
        return load(self.trained, self.datasets_dir, self.device)


@dataclass(frozen=True, slots=True)
class Report:
    """Report of one piece of an analysis.

    Attributes:
        findings: findings of the piece.
        curves: points (x, y) by name of the curve; x is an integer. Values that are not finite are left out later.
    """

    findings: Sequence[Finding] = ()
    curves: Mapping[str, Sequence[tuple[int, float]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Work:
    """Prepared analysis.

    Attributes:
        pieces: functions that are called in this order.
        checksums: SHA-256 digests of all data that was read.
        device: device of the computation. Small computations always run on the CPU: results are the same everywhere.
        model: trained model that the analysis runs, with the model's own kernels. All other networks use the reference
            kernel.
    """

    pieces: Sequence[Callable[[], Report]]
    checksums: Mapping[str, str] = field(default_factory=dict)
    device: torch.device = CPU
    model: nn.Module | None = None


def is_the_papers_run(spec: TrainingSpec, method: type[Method]) -> bool:
    """Tell if a run is reported in the paper: the task's profile ``paper`` without changes, and ``method`` with its
    usual options. A paper's claim about a trained network is tested only on such runs.
    """
    changed = changes(spec).keys() - NO_MATTER
    return spec.task.profile == "paper" and isinstance(spec.norm, method) and not changed
