"""``python -m benchmarks.reproductions``: write docs/results/reproductions.md from a database of runs."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import make_url

from benchmarks.reproductions.earlier import Earlier, earlier
from benchmarks.reproductions.page import NOTHING, PICTURES, page, seeds_of
from benchmarks.reproductions.pictures import draw
from benchmarks.reproductions.sections import sections
from benchmarks.reproductions.seeds import FILE, read, write
from service.artifacts import Artifacts
from service.processes.startup import StartupError, prepare
from service.settings import InvalidSettings, Settings, read_settings


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.reproductions", description=__doc__)
    parser.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="write the page to FILE instead of printing it; beside it write each seed's results, and the pictures,"
        " drawn by Chrome or Chromium; a section without a run keeps what FILE says",
    )
    options = parser.parse_args(arguments)
    try:
        settings = read_settings(Settings)
        _check_there_is_one(settings.database_url)
        db = prepare(settings)
    except (InvalidSettings, StartupError) as error:
        print(f"python -m benchmarks.reproductions: {error}", file=sys.stderr)
        return 1
    before = _before(options.output) if options.output else NOTHING
    with db.snapshot() as session:
        artifacts = Artifacts(settings.artifacts_url)
        text = page(session, artifacts, sections(), before)
        if options.output is not None:
            draw(session, artifacts, sections(), options.output.parent / PICTURES)
            write(options.output.parent / PICTURES / FILE, seeds_of(session, sections(), before))
    db.close()
    if options.output is None:
        print(text, end="")
    else:
        options.output.write_text(text, encoding="utf-8")
    return 0


def _before(page: Path) -> Earlier:
    """Read the earlier page, and the file of results by seed beside it."""
    text = page.read_text(encoding="utf-8") if page.exists() else ""
    return earlier(text, read(page.parent / PICTURES / FILE))


def _check_there_is_one(url: str) -> None:
    """Check that an SQLite database exists. Without this check, a wrong path would give a page without numbers.

    Raises:
        StartupError: there is no database.
    """
    database = make_url(url)
    if database.drivername == "sqlite" and not Path(database.database or "").exists():
        raise StartupError(
            f"there is no database {database.database}; set NORMBENCH_DATA_DIR or NORMBENCH_DATABASE_URL as for the"
            " service that trained the runs"
        )


if __name__ == "__main__":
    sys.exit(main())
