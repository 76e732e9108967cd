"""Every command and every snippet of README and of the site runs.

Each page is run from top to bottom in an empty folder, as by a reader, with a service whose runs end at once. A block
with a title is a file. ``exp_…`` stands for the newest experiment, and other ids likewise. An output on a page has no
label that its command does not print.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import chdir
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
from typer.testing import CliRunner

from normbench import Client
from normbench.cli import app
from service.db import Database
from service.experiments.lifecycle import ClaimedRun
from service.processes.migrate import migrate
from service.settings import Settings
from tests.documents import PAGES, ROOT, Block, blocks
from tests.service.live import live_api
from tests.service.sample_runs import begun, finished, measured, recorded, worker

DEFAULT_URL = "http://127.0.0.1:8000"
PLACEHOLDER = re.compile(r"\b(exp|run|swp|res|key)_…")
ID = re.compile(r"\b(exp|run|swp|res|key)_[0-9A-Z]{26}\b")
NOT_RUN_PAGES = {
    "docs/develop/kernels-gpu.md": "needs a GPU, or compiles for minutes",
    "docs/develop/kernels.md": "compiles and measures for minutes",
    "docs/extend/method.md": "tests/test_recipes.py adds the files to a copy of the tree",
    "docs/extend/cell.md": "tests/test_recipes.py adds the files to a copy of the tree",
    "docs/extend/model.md": "tests/test_recipes.py adds the files to a copy of the tree",
    "docs/extend/task.md": "tests/test_recipes.py adds the files to a copy of the tree",
    "docs/extend/analysis.md": "tests/test_recipes.py adds the files to a copy of the tree",
    "docs/extend/package.md": "tests/examples/test_mean_absolute_norm.py installs the package",
    "docs/results/reproductions.md": "trains for hours; tests/benchmarks/reproductions resolves its specs",
}
NOT_RUN = {
    "git clone": "downloads this repository",
    "python3 -m venv": "makes another environment",
    "pip install": "installs packages",
    ". .venv": "activates another environment",
    "make": "make's targets are what CI runs; tests/normbench/cli/test_demo.py runs the demo",
    "normbench up": "tests/normbench/cli/test_background.py starts and stops it",
    "normbench api": "serves until it is stopped; tests/normbench/cli/test_servers.py runs it",
    "normbench scheduler": "runs until it is stopped; tests/normbench/cli/test_servers.py runs it",
    "normbench worker": "runs until it is stopped; tests/normbench/cli/test_servers.py runs it",
    "normbench data fetch": "downloads from elsewhere",
    "normbench report-card": "needs workers that measure; tests/normbench/test_terminal.py runs it",
    "echo": "submits an analysis, which needs a worker that measures; tests/normcore/analyses run them",
    "normbench open": "opens a browser",
    "pg_dump": "needs a PostgreSQL of one's own",
    "aws s3": "copies from a store of one's own",
    "python -m benchmarks": "measures for minutes; benchmarks are no tests",
    "docker compose": "needs Docker; tests/test_deployment.py reads its files",
    "export NORMBENCH_": "names another machine",
    "normbench submit spec.yaml": "submits to another machine",
}
"""Beginnings of commands that these tests do not run: reason by beginning."""
OURS_ALONE = re.compile(r"normbench [^|<>&;$*\n]*(#.*)?$")
OWN_PROCESS = {"replay"}
"""Commands that change their process, as by settings of PyTorch."""


class Reader(NamedTuple):
    """Reader of the pages: URL of the service, environment of the shell, and the newest ids."""

    url: str
    environment: dict[str, str]
    ids: dict[str, str]


@pytest.fixture(scope="module")
def reader(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """Reader with one service for all pages. A thread gives every submitted run two measurements and ends it."""
    folder = tmp_path_factory.mktemp("documents")
    settings = Settings(
        data_dir=folder,
        datasets_dir=folder / "datasets",
        database_url=f"sqlite:///{folder / 'normbench.db'}",
        broker_url="filesystem://localhost",
        artifacts_url=str(folder / "artifacts"),
    )
    db = Database(settings.database_url)
    migrate(db)
    (folder / "artifacts").mkdir()  # as after a run
    with live_api(settings) as url, worker(db, partial(ended, db)):
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        of_service = {"NORMBENCH_DATA_DIR": str(folder), "NORMBENCH_DATASETS_DIR": str(folder / "datasets")}
        yield Reader(url, {**os.environ, **of_service, "PATH": path, "NORMBENCH_URL": url}, {})
    db.close()


def ended(db: Database, run: ClaimedRun) -> None:
    begun(db, run.lease)
    recorded(db, run.lease, measured(10), measured(20))
    finished(db, run.lease)


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def commands(text: str) -> Iterator[str]:
    """Commands of a shell block. A command is a line, or several lines if a quotation goes over them."""
    command = ""
    for line in text.splitlines(keepends=True):
        command += line
        try:
            shlex.split(command, comments=True)
        except ValueError:  # no closing quotation
            continue
        yield command
        command = ""
    assert command == "", f"the quotation does not end: {command}"


def as_typed(text: str, reader: Reader) -> str:
    """Replace the address in a text by that of this service, and placeholders by existing ids."""
    return PLACEHOLDER.sub(lambda found: reader.ids[found[1]], text.replace(DEFAULT_URL, reader.url))


def run(block: Block, reader: Reader, folder: Path) -> str:
    """Run a block as it is, except the commands in ``NOT_RUN``. Return what it prints."""
    if block.language == "python":
        return run_one([sys.executable, "-c"], block.text, reader, folder)
    ours = [command for command in commands(block.text) if not command.startswith(tuple(NOT_RUN))]
    return "".join(run_command(command, reader, folder) for command in ours)


def run_command(command: str, reader: Reader, folder: Path) -> str:
    """Run a command in a shell, but in this process if it is ours alone, as its imports take longer than its work."""
    words = shlex.split(as_typed(command, reader), comments=True)
    if not OURS_ALONE.match(command) or words[1] in OWN_PROCESS:
        return run_one(["bash", "-euo", "pipefail", "-c"], command, reader, folder)
    with chdir(folder):
        done = CliRunner().invoke(app, words[1:], env=reader.environment)
    assert done.exit_code == 0, f"{command}\n{done.output}"
    note_ids(done.stdout + done.stderr, reader)
    return done.stdout


def labels(printed: str) -> set[str]:
    """Labels in an output of the command line: the columns of its tables, and what stands before its values.

    These do not depend on the runs, unlike values, names and sentences.
    """
    lines, found = printed.splitlines(), set[str]()
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        cells = [cell for cell in re.split(" {2,}", line.strip()) if cell]
        if below.startswith("──"):
            found |= set(cells)
        elif line.startswith("  ") and len(cells) > 1:
            found.add(cells[0])
    return found


def run_one(program: list[str], text: str, reader: Reader, folder: Path) -> str:
    """Run a text in a process, and record the ids that it prints. Return what it prints."""
    command = [*program, as_typed(text, reader)]
    done = subprocess.run(command, cwd=folder, env=reader.environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
    note_ids(done.stdout + done.stderr, reader)
    return done.stdout


def note_ids(printed: str, reader: Reader) -> None:
    """Record the ids in a text, and the first run of the newest experiment."""
    reader.ids.update({found[1]: found[0] for found in ID.finditer(printed)})
    if "exp" in reader.ids:
        with Client(reader.url) as client:
            reader.ids["run"] = client.experiment(reader.ids["exp"])["runs"][0]["id"]


@pytest.mark.parametrize("page", [page for page in PAGES if name_of(page) not in NOT_RUN_PAGES], ids=name_of)
def test_every_block_of_a_page_runs(page: Path, reader: Reader, tmp_path: Path) -> None:
    if all(block.title or block.language not in ("sh", "python") for block in blocks(page)):
        return
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    printed = ""
    for block in blocks(page):
        if block.title:
            (tmp_path / block.title).write_text(block.text, encoding="utf-8")
        elif block.language in ("sh", "python"):
            printed = run(block, reader, tmp_path)
        elif block.language == "text" and printed:
            assert labels(block.text) <= labels(printed), printed


def test_a_clone_is_installed_so_that_edits_of_it_count() -> None:
    """``docs/extend`` has readers add methods to their clone. An installation without ``-e`` would not have them."""
    installed = [line for page in PAGES for line in re.findall(r"pip install .*'\.\[\w+\]'", page.read_text())]
    assert installed
    assert [line for line in installed if " -e " not in line] == []


def test_lists_of_exceptions_name_only_existing_pages_and_commands() -> None:
    """Every entry of the two lists is an existing page, or the beginning of a command on a page."""
    assert set(NOT_RUN_PAGES) <= {name_of(page) for page in PAGES}
    lines = [
        line for page in PAGES for block in blocks(page) if block.language == "sh" for line in block.text.splitlines()
    ]
    assert [beginning for beginning in NOT_RUN if not any(line.startswith(beginning) for line in lines)] == []


def test_each_page_has_its_title_first() -> None:
    texts = {name_of(page): page.read_text(encoding="utf-8") for page in PAGES}
    assert [name for name, text in texts.items() if not re.match(r"# \S", text)] == []


def test_failing_block_is_reported(reader: Reader, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="no leaderboard of"):
        run(Block("sh", "", "normbench leaderboard permuted_digist\n"), reader, tmp_path)
    with pytest.raises(AssertionError, match="ModuleNotFoundError"):
        run(Block("python", "", "import normbench.nothing"), reader, tmp_path)
