"""``python -m benchmarks.faults``: measure faults of one backend, of one seed, or with a lease broken on purpose."""

import argparse
import signal
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from benchmarks import faults
from benchmarks.faults.backends import BACKENDS
from benchmarks.faults.scenario import BRIEF, FULL, Kind
from benchmarks.number import promises_kept
from benchmarks.table import markdown


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return 1 if a promise was broken, else 0. A slow recovery breaks no promise."""
    options = _parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # unwinds, so the servers end
    size = BRIEF if options.brief else FULL
    if options.kind:
        faults_of = {name: dict.fromkeys(options.kind, options.times) for name in size.faults}
        size = replace(size, faults=faults_of, least=1)
    with tempfile.TemporaryDirectory(prefix="bench-faults-", ignore_cleanup_errors=True) as scratch:
        numbers = faults.run(
            Path(scratch),
            size,
            backends=options.backend or (),
            seed=options.seed,
            break_lease=options.break_lease,
        )
    print(markdown(numbers))
    return 0 if promises_kept(numbers) else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.faults", description=__doc__)
    parser.add_argument("--backend", choices=list(BACKENDS), action="append", help="this one; repeatable (both)")
    parser.add_argument("--brief", action="store_true", help="two minutes, with shorter leases")
    parser.add_argument("--seed", type=int, default=faults.SEED, help=f"of the faults ({faults.SEED})")
    names = ", ".join(kind.name.lower() for kind in Kind)
    parser.add_argument("--kind", type=_kind, action="append", metavar="KIND", help=f"only this; repeatable: {names}")
    parser.add_argument("--times", type=int, default=1, help="how often each --kind (1)")
    parser.add_argument("--break-lease", action="store_true", help="let overtaken attempts write: this must fail")
    return parser


def _kind(name: str) -> Kind:
    try:
        return Kind[name.upper()]
    except KeyError:
        raise argparse.ArgumentTypeError(f"there is no kind {name!r} of fault; --help lists the kinds") from None


if __name__ == "__main__":
    sys.exit(main())
