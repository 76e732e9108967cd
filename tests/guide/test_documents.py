"""Every command and every snippet of the documents runs.

Each document is run from top to bottom in an empty folder, as by a reader. The service ends each run at once, and has
the runs of the documents before. A block with a title is a file. ``exp_…`` stands for the newest experiment, and other
ids likewise. An output on a page has no label that its command does not print. JSON, TOML and YAML can be read, and
specs, sweeps and claims are valid.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from contextlib import chdir
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest
import yaml
from typer.testing import CliRunner

from normbench import Client
from normbench.cli import app
from normbench.display.report_card import TABLE_1
from normcore.events import Analysed, Finding
from normcore.spec import TASKS
from normcore.spec.errors import InvalidSpec
from normcore.spec.files import load_yaml
from normcore.spec.methods import METHODS
from normcore.spec.resolve import resolve
from service import results
from service.artifacts import MODEL, Artifacts
from service.db import Database
from service.errors import Invalid
from service.experiments.lifecycle import ClaimedRun
from service.leaderboards.submitted_results import reading
from service.processes.migrate import migrate
from service.settings import Settings
from service.sweeps import expansion
from service.sweeps import spec as sweeps
from tests.documents import DOCUMENTS, PAGES, ROOT, Block, blocks, blocks_of, commands, name_of
from tests.service.live import live_api
from tests.service.sample_runs import begun, finished, measured, recorded, worker

DEFAULT_URL = "http://127.0.0.1:8000"
PLACEHOLDER = re.compile(r"\b(exp|run|swp|res|key)_…")
ID = re.compile(r"\b(exp|run|swp|res|key)_[0-9A-Z]{26}\b")
NOT_RUN_PAGES = {
    "docs/results/reproductions.md": "trains for hours; tests/benchmarks/reproductions resolves its specs",
    "examples/reproductions/README.md": "trains for hours; tests/benchmarks/reproductions resolves its specs",
    "examples/features/README.md": "needs files of features; tests/examples/test_features.py converts some",
    "benchmarks/README.md": "measures for minutes or hours",
    "docs/results/speed.md": "measures for minutes",
}
MAKE = "make's targets are what CI runs"
INSTALLS = "installs packages"
RUNS_ON = "runs until it is stopped; tests/normbench/cli/test_servers.py runs it"
ELSEWHERE = "needs a service on another machine"
NOT_RUN = {
    "make demo": "tests/normbench/cli/test_demo.py runs it",
    "make help": "tests/test_project_files.py runs it",
    "make fast": MAKE,
    "make guide": MAKE,
    "make test PYTEST_OPTIONS='tests/normcore -k scale_norm'": "tests/test_recipes.py runs most of these tests",
    "make test PYTEST_OPTIONS='tests/normcore -k mgu'": "tests/test_recipes.py runs most of these tests",
    "make test PYTEST_OPTIONS='-k reversed_digits'": MAKE,
    ".venv/bin/pip install pre-commit && .venv/bin/pre-commit install": INSTALLS,
    "git clone <address of the repository> normbench && cd normbench": "downloads this repository",
    "python3 -m venv .venv && . .venv/bin/activate": "makes another environment",
    ". .venv/bin/activate": "activates another environment",
    "pip install -e '.[all]'": INSTALLS,
    "pip install 'normbench[nn]'": "tests/test_library_alone.py runs what it installs",
    "pip install ./examples/mean_absolute_norm": "tests/examples/test_mean_absolute_norm.py installs it",
    "pip install ./examples/adding_problem": "tests/examples/test_adding_problem.py installs it",
    "pytest tests/normcore/norms/test_contract.py tests/normcore/spec/test_idle_options.py -k mean_absolute_norm": (
        "tests/examples/test_mean_absolute_norm.py runs it"
    ),
    "normbench up --detach": "tests/normbench/cli/test_background.py starts and stops it",
    "normbench up --workers 2": RUNS_ON,
    "normbench api --host 0.0.0.0": RUNS_ON,
    "normbench scheduler": RUNS_ON,
    "normbench worker --device cpu": RUNS_ON,
    "normbench data fetch mnist": "downloads from elsewhere",
    'pg_dump --format=custom --file=normbench.dump "$NORMBENCH_DATABASE_URL"': "needs a PostgreSQL of one's own",
    "aws s3 sync s3://bucket/runs artifacts": "copies from a store of one's own",
    "export NORMBENCH_DATASETS_DIR=~/data-sets": "these tests have a folder of their own",
    "export NORMBENCH_ALLOWED_HOSTS=host": "configures Docker",
    "docker compose run --rm api keys create me": "needs Docker; tests/test_deployment.py reads its files",
    "docker compose up -d": "needs Docker; tests/test_deployment.py reads its files",
    "export NORMBENCH_URL=http://host:8000 NORMBENCH_API_KEY=nb_…": ELSEWHERE,
    "normbench submit spec.yaml --wait": ELSEWHERE,
    "python -m benchmarks.gpu_day --to results": "needs a GPU; tests/benchmarks/gpu_day tries all parts",
    "python -m benchmarks.gpu_day --tables results": "needs results of a GPU; tests/benchmarks/gpu_day writes tables",
}
"""Commands that these tests do not run: reason by command. tests/guide/test_commands.py parses them."""
OF_OTHER_CODE = {
    "docs/extend/method.md": "scale_norm",
    "docs/extend/analysis.md": "fading_memory",
    "examples/mean_absolute_norm/README.md": "mean_absolute_norm",
    "examples/adding_problem/README.md": "adding_problem",
}
"""Documents on code that a reader adds, with the name of the code. They run in the tests that add the code:
tests/test_recipes.py and those of tests/examples."""
WITH_SPECS = [document for document in DOCUMENTS if OF_OTHER_CODE.get(name_of(document), "none") in {*METHODS, *TASKS}]
"""Documents whose specs this installation can read."""
TO_RUN = [document for document in WITH_SPECS if name_of(document) not in NOT_RUN_PAGES]
FINDINGS = [
    Finding(name, 1.0, "a number", "invariant")
    for name in (*TABLE_1, "ratio", "ratio.low", "ratio.high", "smallest_batch")
]
"""Findings of every analysis: the names that a report card reads."""
READERS: dict[str, Callable[[str], object]] = {"json": json.loads, "toml": tomllib.loads, "yaml": yaml.safe_load}
MISTAKES_IN_SPECS = {
    "task: {name: permuted_digits}\nseed: [0]": "unknown field",
    "tsk: {name: permuted_digits}": "task",
    "spec:\n  task: {name: permuted_digits}\ngird: {norm.method: [none]}": "unknown field",
    "spec:\n  task: {name: permuted_digits}\ngrid: {norm.method: [nome]}": "write the names as they are known",
    "task: {name: permuted_digits}\nvalues: [{seed: 0, value: 1, val: 1}]\nprovenance: {source: a}": "unknown field",
}
MISTAKES_IN_BLOCKS = {
    "```sh\nls\n```\n\n```\nnormbench submit\n```\n": "write the language behind",
    "```bash\nls\n```\n": "no language bash",
    "- Type this:\n\n  ```sh\n  ls\n  ```\n": "write ``` at the start of its line",
    "- ```sh\n  ls\n  ```\n": "write ``` at the start of its line",
    "1. ```sh\n   ls\n   ```\n": "write ``` at the start of its line",
    "> ```sh\n> ls\n> ```\n": "write ``` at the start of its line",
    "~~~sh\nls\n~~~\n": "write ``` at the start of its line",
    "```sh\nls\n\n```sh\nls\n```\n": "write ``` at the start of its line",
    "```sh\nls\n": "write ``` at the start of its line",
}
COMMENT = re.compile(r" +# .*")
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
    artifacts = Artifacts(settings.artifacts_url)
    with live_api(settings) as url, worker(db, partial(ended, db, artifacts)):
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH'] or os.defpath}"
        of_service = {"NORMBENCH_DATA_DIR": str(folder), "NORMBENCH_DATASETS_DIR": str(folder / "datasets")}
        yield Reader(url, {**os.environ, **of_service, "PATH": path, "NORMBENCH_URL": url, "COLUMNS": "200"}, {})
    db.close()


def ended(db: Database, artifacts: Artifacts, run: ClaimedRun) -> None:
    begun(db, run.lease)
    artifacts.write(run.lease.run_id, run.lease.attempt, MODEL, b"a model")
    if run.spec.get("kind") == "analysis":
        with db.transaction() as session:
            results.finish_analysis(session, run.lease, Analysed(FINDINGS, 1.5))
        return
    recorded(db, run.lease, measured(10), measured(20))
    finished(db, run.lease)


def as_typed(text: str, reader: Reader) -> str:
    """Replace the address in a text by that of this service, and placeholders by existing ids."""
    return PLACEHOLDER.sub(lambda found: reader.ids[found[1]], text.replace(DEFAULT_URL, reader.url))


def run(block: Block, reader: Reader, folder: Path) -> str:
    """Run a block as it is, except the commands in ``NOT_RUN``. Return what it prints."""
    if block.language == "python":
        return run_one([sys.executable, "-c"], block.text, reader, folder)
    to_run = [command for command in commands(block.text) if without_comment(command) not in NOT_RUN]
    return "".join(run_command(command, reader, folder) for command in to_run)


def without_comment(command: str) -> str:
    return COMMENT.sub("", command.strip())


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


@pytest.mark.parametrize("document", TO_RUN, ids=name_of)
def test_every_block_of_a_document_runs(document: Path, reader: Reader, tmp_path: Path) -> None:
    recipe = document.parent == ROOT / "docs/extend"  # tests/test_recipes.py adds its Python to a copy of the tree
    languages = ("sh",) if recipe else ("sh", "python")
    if all(block.title or block.language not in languages for block in blocks(document)):
        return
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    printed = ""
    for block in blocks(document):
        if block.title and "/" not in block.title:
            (tmp_path / block.title).write_text(block.text, encoding="utf-8")
        elif block.language in languages and not block.title:
            printed = run(block, reader, tmp_path)
        elif block.language == "text" and printed:
            assert labels(block.text) <= labels(printed), printed


@pytest.mark.parametrize("document", DOCUMENTS, ids=name_of)
def test_data_in_a_document_can_be_read(document: Path) -> None:
    for block in blocks(document):
        READERS.get(block.language, str)(block.text)


@pytest.mark.parametrize(("language", "text"), [("json", "{'a': 1}"), ("toml", "a = b"), ("yaml", "a: {b: 1")])
def test_mistake_in_data_is_reported(language: str, text: str) -> None:
    with pytest.raises((ValueError, yaml.YAMLError)):
        READERS[language](text)


@pytest.mark.parametrize("document", WITH_SPECS, ids=name_of)
def test_every_spec_in_a_document_is_valid(document: Path) -> None:
    for block in blocks(document):
        if block.language == "yaml":
            check_spec(block.text)


def check_spec(text: str) -> None:
    """Check a spec, sweep or claim as the service does."""
    written = load_yaml(text)
    if "spec" in written or "specs" in written:
        expansion.cells(sweeps.read(written), None)
    elif "values" in written:
        reading.read(written)
    else:
        resolve(written)


@pytest.mark.parametrize(("text", "told"), MISTAKES_IN_SPECS.items())
def test_mistake_in_a_spec_is_reported(text: str, told: str) -> None:
    with pytest.raises((Invalid, InvalidSpec), match=told):
        check_spec(text)


@pytest.mark.parametrize(("text", "told"), MISTAKES_IN_BLOCKS.items())
def test_mistake_in_a_block_is_reported(text: str, told: str) -> None:
    with pytest.raises(AssertionError, match=told):
        list(blocks_of(text))


def test_a_clone_is_installed_so_that_edits_of_it_count() -> None:
    """``docs/extend`` has readers add methods to their clone. An installation without ``-e`` would not have them."""
    installed = [line for page in PAGES for line in re.findall(r"pip install .*'\.\[\w+\]'", page.read_text())]
    assert installed
    assert [line for line in installed if " -e " not in line] == []


def test_lists_of_exceptions_name_only_existing_documents_and_commands() -> None:
    assert {*NOT_RUN_PAGES, *OF_OTHER_CODE} <= {name_of(document) for document in DOCUMENTS}
    shell = [block.text for document in DOCUMENTS for block in blocks(document) if block.language == "sh"]
    assert set(NOT_RUN) <= {without_comment(command) for text in shell for command in commands(text)}


def test_each_page_has_its_title_first() -> None:
    texts = {name_of(page): page.read_text(encoding="utf-8") for page in DOCUMENTS}
    assert [name for name, text in texts.items() if not re.match(r"# \S", text)] == []


def test_failing_block_is_reported(reader: Reader, tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="no leaderboard of"):
        run(Block("sh", "", "normbench leaderboard permuted_digist\n"), reader, tmp_path)
    with pytest.raises(AssertionError, match="ModuleNotFoundError"):
        run(Block("python", "", "import normbench.nothing"), reader, tmp_path)
