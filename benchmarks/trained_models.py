"""What Recurrent Batch Normalization says of a trained language model: Fig. 5 and Fig. 3b.

One LSTM of 128 units with recurrent batch norm is trained on characters for 700 updates, then two analyses look into
it. The Penn Treebank where it is at hand; Python's documentation otherwise, whose test text holds few long segments.
"""

import os
from pathlib import Path
from typing import Any

from benchmarks.number import Number, Target, number
from normcore.data.registry import DATASETS, status
from normcore.events import Analysed, Event, Finding, Finished
from normcore.memory import keep_freed_memory
from normcore.run import run
from normcore.spec import resolve

LENGTHS = (100, 300, 500, 1000)
RUN = "run_00000000000000000000000000"  # analyses name a run; here its model is handed over


def measure(scratch: Path) -> list[Number]:
    keep_freed_memory()
    given = os.environ.get("NORMBENCH_DATASETS_DIR")
    datasets_dir = Path(given) if given else None
    model = _trained(datasets_dir)
    settling = _findings({"name": "population_statistics"}, model, datasets_dir)
    by_length = _findings({"name": "length_generalization", "lengths": list(LENGTHS)}, model, datasets_dir)
    return [
        *(
            number(
                f"Fig. 5: variance of {what} settles",
                "steps",
                [settling[f"recurrent.cells.0.{site}: variance settled at"]],
                target=Target("ours", "at most", 10),
            )
            for site, what in (("norm_h", "the recurrent term"), ("norm_c", "the cell"))
        ),
        *(
            number(
                f"Fig. 3b: length {length}, population statistics",
                "bits",
                [by_length[f"length {length}"]],
                versus="batch statistics",
                theirs=[by_length[f"length {length}: batch statistics"]],
                target=Target("ratio", "under", 1),
            )
            for length in LENGTHS
        ),
        number(
            "Fig. 3b: rise from 100 to 1000",
            "bits",
            [by_length["rise with length"]],
            target=Target("ours", "under", 0),  # the figure's curve falls
        ),
    ]


def _trained(datasets_dir: Path | None) -> bytes:
    """``model.pt`` of the training."""
    has_treebank = status(DATASETS["ptb"], datasets_dir) == "present"
    spec = resolve(
        {
            "task": {
                "name": "char_lm",
                "corpus": "ptb" if has_treebank else "pydoc",
                "sequence_length": 100,
                "eval_chars": None,
            },
            "norm": {"method": "recurrent_batch_norm"},
            "training": {"max_steps": 700, "eval_every": 350},
        }
    )
    finished = _last(run(spec, 0, datasets_dir=datasets_dir))
    assert isinstance(finished, Finished)
    return finished.model()


def _findings(task: dict[str, Any], model: bytes, datasets_dir: Path | None) -> dict[str, float]:
    analysed = _last(run(resolve({"task": {**task, "run": RUN}}), 0, datasets_dir=datasets_dir, trained=model))
    assert isinstance(analysed, Analysed)
    return {finding.name: _value(finding) for finding in analysed.findings}


def _last(events: Any) -> Event:
    *_, last = events
    event: Event = last
    return event


def _value(finding: Finding) -> float:
    return float("nan") if finding.value is None else finding.value
