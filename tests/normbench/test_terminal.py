"""Whole commands on real terminals of 80 and 50 columns, and in a pipe."""

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from normcore.data import registry
from normcore.spec import TASKS
from normcore.spec.methods import METHODS
from service.db import Database
from service.keys import keyring
from service.settings import Settings
from tests.normbench.terminal import on_a_terminal
from tests.service.live import live_api
from tests.service.sample_runs import claimed, finished, submitted


@pytest.fixture
def database_url(tmp_path: Path) -> str:
    """One database, since these tests are the same on every database."""
    return f"sqlite:///{tmp_path / 'normbench.db'}"


@pytest.fixture
def environment(settings: Settings) -> Iterator[dict[str, str]]:
    with live_api(settings) as url:
        yield {
            "NORMBENCH_URL": url,
            "NORMBENCH_DATA_DIR": str(settings.data_dir),
            "NORMBENCH_DATABASE_URL": settings.database_url,
        }


@pytest.fixture
def identified(db: Database) -> dict[str, list[str]]:
    """Texts that must be readable, by command."""
    made = [submitted(db, method, seeds=[0, 1]) for method in ("recurrent_batch_norm", "layer_norm")]
    for _ in made * 2:
        finished(db, claimed(db).lease, value=0.5)
    with db.transaction() as session:
        key, _ = keyring.create(session, "ada lovelace, of the analytical engines")
    methods = ["recurrent_batch_norm", "layer_norm"]
    return {
        "status": [*(e.id for e in made), *methods, "succeeded", "permuted_digits"],
        f"status {made[0].id}": [*(run.id for run in made[0].runs), "succeeded", made[0].id],
        f"watch {made[0].id}": [made[0].id, "succeeded"],
        f"logs {made[0].runs[0].id}": [made[0].runs[0].id, "succeeded"],
        "leaderboard permuted_digits --profile smoke": [*methods, "0.500"],
        "keys list": [key.id],
        "tasks": list(TASKS),
        "methods": list(METHODS),
        "data list": [*registry.DATASETS, "missing", "bundled"],
        "report-card layer_norm --no-measure": ["layer_norm", "permuted_digits (smoke)", "too few seeds", "lstm"],
    }


ALL = """
import sys
from normbench.cli import app
for command in sys.argv[1:]:
    app(command.split(), standalone_mode=False)
    print("END OF A COMMAND")
"""


def process(commands: Iterable[str]) -> list[str]:
    """Arguments of a process that executes many commands, as each process takes half a second to start."""
    return [sys.executable, "-P", "-c", ALL, *commands]


def by_command(commands: Iterable[str], text: str) -> dict[str, str]:
    *shown, rest = text.split("END OF A COMMAND\n")
    assert rest == "", text
    return dict(zip(commands, shown, strict=True))


@pytest.mark.parametrize(("columns", "plain"), [(80, {}), (50, {"NO_COLOR": "1"})])
def test_identifying_texts_are_not_cut_on_a_narrow_terminal(
    columns: int, plain: dict[str, str], environment: dict[str, str], identified: dict[str, list[str]]
) -> None:
    shown = by_command(identified, on_a_terminal(process(identified), columns, environment | plain))
    for command, names in identified.items():
        text = shown[command]
        for name in names:
            assert any(name in line for line in text.splitlines()), f"{name} is broken in {command}:\n{text}"
        assert max(map(len, text.splitlines())) <= columns, text
        assert "…" not in text


def in_a_pipe(identified: dict[str, list[str]], environment: dict[str, str], columns: str) -> dict[str, str]:
    """Output of each command in a pipe. COLUMNS is not set if ``columns`` is empty."""
    inherited = {k: value for k, value in os.environ.items() if k != "COLUMNS" and not k.startswith("NORMBENCH_")}
    environment = {**inherited, **environment, **({"COLUMNS": columns} if columns else {})}
    result = subprocess.run(
        process(identified), env=environment, capture_output=True, text=True, check=True, timeout=60
    )
    return by_command(identified, result.stdout)


def test_each_row_is_one_line_in_a_pipe_and_ends_without_blanks(
    environment: dict[str, str], identified: dict[str, list[str]]
) -> None:
    shown = in_a_pipe(identified, environment, "")
    for command, names in identified.items():
        lines = shown[command].splitlines()
        assert [line for line in lines if line.endswith(" ")] == []
        for name in names:
            assert any(name in line for line in lines), f"{name} in {command}:\n{shown[command]}"
        assert "Widen the terminal" not in shown[command]
        if command == "methods":
            assert sum(line.split()[:1] == ["layer_norm"] for line in lines) == 1
            assert any("layer_norm" in line and "arXiv:1607.06450" in line for line in lines)


def test_output_in_a_pipe_is_as_wide_as_the_variable_columns_says(
    environment: dict[str, str], identified: dict[str, list[str]]
) -> None:
    for columns, narrow in (("60", True), ("0", False)):
        shown = in_a_pipe(identified, environment, columns)
        for text in shown.values():
            assert (max(map(len, text.splitlines())) <= 60) or not narrow, text
            assert [line for line in text.splitlines() if line.endswith(" ")] == []
        assert ("Widen the terminal" in shown["leaderboard permuted_digits --profile smoke"]) == narrow
