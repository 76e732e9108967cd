"""``python -m benchmarks.gpu_day.one_part PART FOLDER SECONDS``: make the measurements of one part in this process."""

import argparse
import signal
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from benchmarks.gpu_day.device import Device
from benchmarks.gpu_day.results import OtherMachine, Results

REFUSED = 3  # exit status: the results are of another machine, or there is no device


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu_day.one_part", description=__doc__)
    parser.add_argument("part")
    parser.add_argument("folder", type=Path)
    parser.add_argument("seconds", type=float)
    parser.add_argument("--interpret", action="store_true")
    parser.add_argument("--commit")
    options = parser.parse_args(arguments)
    device, results = Device(options.interpret), Results.read(options.folder, options.part)
    try:
        machine = device.describe()
        results.measured_on({**machine, "git": options.commit or machine["git"]})
    except (OtherMachine, AssertionError, ImportError, RuntimeError) as error:  # torch without CUDA asserts
        print(f"error: {error}", file=sys.stderr)
        return REFUSED
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # ends the servers that a part has started
    cases = list(import_module(f"benchmarks.gpu_day.{options.part}").cases(device))
    results.take(cases, options.seconds)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
