"""What the initial gain of recurrent batch norm does to learning: RBN Fig. 6.

The validation cross-entropy after the same number of updates, gain by gain. The paper's rises with the gain on permuted
MNIST, and is the same for every gain on the Penn Treebank. On a GPU with the data at hand these are the paper's own
experiments (10,000 updates), elsewhere the same network on the 64 pixels of scikit-learn's digits and a small one on
characters.
"""

import os
from dataclasses import dataclass
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
# published on the Penn Treebank: minima of 1.016 to 1.018 nats for every gain


@dataclass(frozen=True, slots=True)
class Training:
    """One half of the figure, at a size that the machine can do."""

    name: str
    task: dict[str, Any]
    updates: int
    device: str


def measure(scratch: Path) -> list[Number]:
    keep_freed_memory()
    given = os.environ.get("NORMBENCH_DATASETS_DIR")
    datasets_dir = Path(given) if given else None
    pixels, text = _pixels(datasets_dir), _text(datasets_dir)
    of_pixels, of_text = (
        {gain: _validation_loss(training, gain, datasets_dir) for gain in GAINS} for training in (pixels, text)
    )
    return [
        *(
            number(
                f"Fig. 6: {pixels.name}, gain {gain:g}",
                "nats",
                [of_pixels[gain]],
                versus=f"gain {greater:g}",
                theirs=[of_pixels[greater]],
                target=Target("ratio", "under", 1),
            )
            for gain, greater in pairwise(GAINS)
        ),
        *(number(f"Fig. 6: {text.name}, gain {gain:g}", "nats", [loss]) for gain, loss in of_text.items()),
        number(
            "Fig. 6: worst gain over best, on text",
            "x",
            [_spread(of_text)],
            versus="on pixels",
            theirs=[_spread(of_pixels)],
            target=Target("ratio", "under", 1),
        ),
    ]


def _spread(loss: dict[float, float]) -> float:
    return max(loss.values()) / min(loss.values())


def _pixels(datasets_dir: Path | None) -> Training:
    if torch.cuda.is_available() and status(DATASETS["mnist"], datasets_dir) == "present":
        return Training(
            "permuted MNIST, 10,000 updates", {"name": "permuted_mnist", "profile": "paper"}, 10_000, "cuda"
        )
    return Training("permuted digits, 200 updates", {"name": "permuted_digits", "profile": "paper"}, 200, "cpu")


def _text(datasets_dir: Path | None) -> Training:
    has_treebank = status(DATASETS["ptb"], datasets_dir) == "present"
    if torch.cuda.is_available() and has_treebank:
        return Training("Penn Treebank, 10,000 updates", {"name": "char_lm", "profile": "paper"}, 10_000, "cuda")
    corpus, title = ("ptb", "Penn Treebank") if has_treebank else ("pydoc", "Python's documentation")
    task = {"name": "char_lm", "corpus": corpus, "sequence_length": 100, "eval_chars": None}
    return Training(f"{title}, 300 updates", task, 300, "cpu")


def _validation_loss(training: Training, gain: float, datasets_dir: Path | None) -> float:
    """After the last update, with batch statistics as in the paper's figure."""
    written: dict[str, Any] = {
        "task": training.task,
        "norm": {"method": "recurrent_batch_norm", "gain_init": gain},
        "training": {"max_steps": training.updates, "eval_every": training.updates},
    }
    events = run(resolve(written), 0, device=training.device, datasets_dir=datasets_dir)
    measured = (event.values for event in events if isinstance(event, Measured))
    return next(values["valid.loss"] for values in measured if "valid.loss" in values)
