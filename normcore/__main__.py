"""``python -m normcore spec.yaml``: train or analyse in this process, and print events, one JSON object a line."""

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

from normcore.data.folders import DATASETS_DIR, datasets_dir
from normcore.data.registry import DatasetError, pin
from normcore.events import Advanced, Evaluating, Stepped, to_json
from normcore.memory import keep_freed_memory
from normcore.run import run
from normcore.spec import ExperimentSpec, InvalidSpec, read_spec, resolve
from normcore.spec.plug_ins.errors import CannotRun
from normcore.variables import check_variables

USAGE_ERROR, INTERRUPTED = 2, 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    options = _parser().parse_args(arguments)
    keep_freed_memory()
    try:
        check_variables(os.environ)
        spec = pin(resolve(read_spec(options.spec)), options.datasets_dir)
        for seed in options.seed or spec.seeds:
            _run(spec, seed, options)
    except InvalidSpec as error:
        for wrong in error.errors:
            print(f"error: {'.'.join(map(str, wrong.loc)) or 'spec'}: {wrong.msg}", file=sys.stderr)
        return USAGE_ERROR
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader closed the pipe; exit silently
        return 0
    except DatasetError as error:
        print(f"error: {'.'.join(error.field)}: {error}", file=sys.stderr)
        return USAGE_ERROR
    except (OSError, ValueError, CannotRun) as error:
        print(f"error: {error}", file=sys.stderr)
        return USAGE_ERROR
    except KeyboardInterrupt:
        return INTERRUPTED
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m normcore", description=__doc__)
    parser.add_argument("spec", type=Path, help="the experiment, YAML or JSON")
    parser.add_argument(
        "--seed", type=int, action="append", help="seed to run; repeat it for more seeds (default: the spec's seeds)"
    )
    parser.add_argument("--device", help="cpu, cuda or cuda:N (default: the spec's)")
    parser.add_argument("--threads", type=int, default=1, help="torch's threads on the CPU (default: 1)")
    parser.add_argument(
        "--datasets-dir",
        type=Path,
        default=datasets_dir(os.environ),
        help=f"directory of the data sets (default: ${DATASETS_DIR}, or the folder that normbench data fills)",
    )
    parser.add_argument("--model", type=Path, help="model.pt of the run that an analysis names as task.run")
    return parser


def _run(spec: ExperimentSpec, seed: int, options: argparse.Namespace) -> None:
    device = options.device or spec.device
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    events = run(
        spec,
        seed,
        device=device,
        datasets_dir=options.datasets_dir,
        threads=options.threads,
        trained=options.model.read_bytes() if options.model else None,
    )
    for event in events:
        if not isinstance(event, Stepped | Evaluating | Advanced):
            print(json.dumps({"seed": seed, **to_json(event)}), flush=True)


if __name__ == "__main__":
    sys.exit(main())
