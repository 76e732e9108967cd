"""Predicted and measured memory of trainings: ``python -P -m benchmarks.memory``.

Each spec trains for a few updates in its own process. The measured peak is the process's largest resident set, as
Linux reports it. The prediction must be a lower bound: peak / prediction under 1 would refuse a run that fits.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from normcore.footprint import footprint
from normcore.spec import resolve

STEPS = {"max_steps": 4, "eval_every": 4}
MIB = 1 << 20


def spec(task: str, method: str = "none", profile: str = "smoke", **parts: Any) -> dict[str, Any]:
    training = {**STEPS, **parts.pop("training", {})}
    options = {"name": task, "profile": profile, **parts.pop("options", {})}
    return {"task": options, "norm": {"method": method}, "training": training, **parts}


def specs() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield names and specs: small and large ones of every kind of model."""
    lstm = {"cell": "lstm", "hidden_size": 512}
    yield "smoke", spec("permuted_digits")
    yield "batch 1000", spec("permuted_digits", model=lstm, training={"batch_size": 1000})
    yield "batch 1000, layer_norm", spec("permuted_digits", "layer_norm", model=lstm, training={"batch_size": 1000})
    yield (
        "batch 1000, recurrent_batch_norm",
        spec("permuted_digits", "recurrent_batch_norm", model=lstm, training={"batch_size": 1000}),
    )
    yield "reference loop", spec("permuted_digits", model=lstm, training={"batch_size": 1000, "kernel": "reference"})
    yield "2 x 1200 units", spec("permuted_digits", model={**lstm, "hidden_size": 1200, "num_layers": 2})
    yield "GRU", spec("permuted_digits", model={"cell": "gru", "hidden_size": 512}, training={"batch_size": 1000})
    yield "RNN", spec("permuted_digits", model={"cell": "rnn", "hidden_size": 2048}, training={"batch_size": 1000})
    yield "float64", spec("permuted_digits", model=lstm, training={"batch_size": 500, "precision": "float64"})
    yield "char_lm", spec("char_lm", model={"hidden_size": 1024}, training={"batch_size": 256})
    yield "char_lm, long", spec("char_lm", options={"sequence_length": 400}, training={"batch_size": 256})
    yield "feedforward", spec("feedforward", model={"hidden_sizes": [6000, 6000]})
    yield "convnet", spec("convnet", model={"stage_channels": [64]}, training={"batch_size": 500})
    yield "draw", spec("draw", options={"dataset": "digits"}, model={"hidden_size": 512}, training={"batch_size": 200})


def peak(written: dict[str, Any]) -> int:
    """Train a spec in a process; return the bytes of the process's largest resident set."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "spec.json"
        file.write_text(json.dumps(written))
        command = [sys.executable, "-P", "-m", "normcore", str(file)]
        with (Path(folder) / "log").open("w+") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log)
            _, status, usage = os.wait4(process.pid, 0)
            log.seek(0)
            if status:
                raise ChildProcessError(log.read()[-500:])
    return usage.ru_maxrss * 1024


def main() -> None:
    print(f"{'training':34} {'predicted':>10} {'peak':>10}  peak / predicted (MiB)")
    for name, written in specs():
        found = footprint(resolve(written))
        assert found is not None
        predicted, measured = found.on("cpu"), peak(written)
        print(f"{name:34} {predicted / MIB:10.0f} {measured / MIB:10.0f} {measured / predicted:6.2f}", flush=True)


if __name__ == "__main__":
    main()
