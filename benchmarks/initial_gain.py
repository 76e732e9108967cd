"""What the initial gain of recurrent batch norm does to learning: RBN Fig. 6.

The validation cross-entropy after the same number of updates, gain by gain; the paper's rises with the gain. On a GPU
with MNIST at hand this is the paper's own experiment (permuted MNIST, 10,000 updates), elsewhere the same network on
the 64 pixels of scikit-learn's digits.
"""

import os
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch

from benchmarks.number import Number, Target, number
from normcore.data.registry import DATASETS, status
from normcore.events import Measured
from normcore.memory import keep_freed_memory
from normcore.run import run
from normcore.spec import resolve

GAINS = (0.1, 0.3, 0.5, 0.7, 1.0)  # published on permuted MNIST: 0.341, 0.415, 0.550, 1.186, 2.255 nats
PERMUTED_MNIST = ("permuted_mnist", 10_000)
PERMUTED_DIGITS = ("permuted_digits", 200)


def measure(scratch: Path) -> list[Number]:
    keep_freed_memory()
    given = os.environ.get("NORMBENCH_DATASETS_DIR")
    datasets_dir = Path(given) if given else None
    has_all = torch.cuda.is_available() and status(DATASETS["mnist"], datasets_dir) == "present"
    task, updates = PERMUTED_MNIST if has_all else PERMUTED_DIGITS
    loss = {gain: _validation_loss(task, updates, gain, datasets_dir) for gain in GAINS}
    return [
        number(
            f"Fig. 6: {task}, {updates:,} updates, gain {gain:g}",
            "nats",
            [loss[gain]],
            versus=f"gain {greater:g}",
            theirs=[loss[greater]],
            target=Target("ratio", "under", 1),
        )
        for gain, greater in pairwise(GAINS)
    ]


def _validation_loss(task: str, updates: int, gain: float, datasets_dir: Path | None) -> float:
    """After the last update, with batch statistics as in the paper's figure."""
    written: dict[str, Any] = {
        "task": {"name": task, "profile": "paper"},
        "norm": {"method": "recurrent_batch_norm", "gain_init": gain},
        "training": {"max_steps": updates, "eval_every": updates},
    }
    device = "cuda" if task == "permuted_mnist" else "cpu"
    events = run(resolve(written), 0, device=device, datasets_dir=datasets_dir)
    return next(event.values["valid.loss"] for event in events if isinstance(event, Measured))
