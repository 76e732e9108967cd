"""``python -m benchmarks.gpu_day``: measure everything that needs a GPU, the most valuable parts first.

Each part has a time of its own, and keeps each result as soon as it is measured. The same command again measures what
is missing. ``--tables`` writes the results into the documents, on any machine.
"""

import argparse
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmarks.gpu_day import documents
from benchmarks.gpu_day.supervisor import run_part

PARTS: Mapping[str, float] = {"exactness": 420, "speed": 450, "rnn": 300, "training": 450, "memory": 120}
"""Seconds of each part, in the order in which the parts run."""
INTERPRETED_SECONDS = 90.0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    options = _parser().parse_args(arguments)
    if options.tables is not None:
        try:
            documents.write(options.tables, dry_run=options.dry_run)
        except documents.Refusal as error:
            print(f"error: {error}", file=sys.stderr)
            return 1
        return 0
    if options.to is None:
        print("error: name the folder of the results: --to FOLDER, or --tables FOLDER", file=sys.stderr)
        return 2
    return max(_measure(part, options) for part in options.parts)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu_day", description=__doc__)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--to", type=Path, metavar="FOLDER", help="measure; keep one JSON file for each part there")
    what.add_argument("--tables", type=Path, metavar="FOLDER", help="write the tables of the documents from there")
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--seconds", type=float, help="time of each part (default: 120 to 450, by part)")
    parser.add_argument("--interpret", action="store_true", help="try everything without a GPU, on tiny shapes")
    parser.add_argument("--commit", help="commit of the code, for a copy without git")
    parser.add_argument("--dry-run", action="store_true", help="with --tables: print the tables, and write nothing")
    return parser


def _measure(part: str, options: argparse.Namespace) -> int:
    """Run one part, and say how long it took."""
    seconds = options.seconds or (INTERPRETED_SECONDS if options.interpret else PARTS[part])
    print(f"== {part}, {seconds:g} s", flush=True)
    began = time.monotonic()
    passed_on = ["--interpret"] if options.interpret else []
    passed_on += ["--commit", options.commit] if options.commit else []
    status = run_part(part, options.to, seconds, *passed_on)
    print(f"== {part}: {time.monotonic() - began:.0f} s", flush=True)
    return status


if __name__ == "__main__":
    raise SystemExit(main())
