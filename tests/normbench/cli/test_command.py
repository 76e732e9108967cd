"""Common parts of all commands: help, JSON, and complaints on standard error with status 2."""

from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click
import pytest
import typer
from typer.testing import CliRunner

from normbench.cli import app
from tests.normbench.cli.commands import normbench


def commands(group: click.Group, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    for name, found in group.commands.items():
        if hasattr(found, "commands"):
            yield from commands(found, (*path, name))  # type: ignore[arg-type]
        else:
            yield (*path, name), found


def test_every_command_has_help_and_can_answer_in_json() -> None:
    root: Any = typer.main.get_command(app)
    found = dict(commands(root))
    assert {" ".join(path) for path in found} == {
        "up",
        "demo",
        "submit",
        "sweep",
        "watch",
        "status",
        "logs",
        "cancel",
        "retry",
        "leaderboard",
        "compare",
        "claim",
        "claims",
        "withdraw",
        "replay",
        "report-card",
        "cite",
        "publish",
        "tasks",
        "methods",
        "open",
        "export board",
        "export overall",
        "export report-card",
        "export comparison",
        "export experiment",
        "export experiments",
        "export sweep",
        "export sweeps",
        "export measurements",
        "data list",
        "data fetch",
        "data verify",
        "keys create",
        "keys list",
        "keys revoke",
        "api",
        "worker",
        "kernels",
        "scheduler",
        "migrate",
    }
    for path, one in found.items():
        assert one.help, path
        options = {name for parameter in one.params for name in parameter.opts}
        assert "--json" in options, path
        result = CliRunner().invoke(app, [*path, "--help"])
        assert result.exit_code == 0
        assert "Usage" in result.stdout


def test_the_version_is_printed() -> None:
    assert normbench("--version") == f"normbench {version('normbench')}\n"


def test_a_refusal_of_the_service_goes_to_standard_error_with_status_2(api: str) -> None:
    assert "exp_nope" in normbench("status", "exp_nope", status=2)
    assert "exp_nope" in normbench("cancel", "exp_nope", "--json", status=2)
    assert "nope" in normbench("leaderboard", "nope", status=2)
    assert "baseline" in normbench("leaderboard", "permuted_digits", "--baseline", "nope", status=2)


def test_a_command_without_a_service_says_how_to_start_a_service(nobody: None, spec_file: Path) -> None:
    for arguments in (
        ["submit", spec_file],
        ["sweep", spec_file],
        ["status"],
        ["logs", "run_1"],
        ["cancel", "exp_1"],
        ["retry", "exp_1"],
        ["replay", "run_1"],
        ["tasks"],
        ["leaderboard", "x"],
        ["leaderboard", "overall"],
        ["compare", "0123456789ab", "ba9876543210"],
        ["report-card", "x"],
        ["claim", spec_file],
        ["claims"],
        ["withdraw", "res_1"],
        ["export", "experiments"],
    ):
        assert "normbench up" in normbench(*arguments, status=2)


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        (["status", "run_1"], "`normbench logs run_1`"),
        (["watch", "exp_1", "run_1"], "`normbench logs run_1`"),
        (["cancel", "run_1"], "`normbench logs run_1`"),
        (["retry", "run_1"], "`normbench logs run_1`"),
        (["logs", "exp_1"], "`normbench status exp_1`"),
    ],
)
def test_an_id_of_another_kind_is_refused_with_the_command_that_takes_it(
    nobody: None, arguments: list[str], advice: str
) -> None:
    assert advice in normbench(*arguments, status=2)


@pytest.mark.parametrize("verb", ["status", "watch", "cancel", "retry", "logs", "leaderboard", "report-card"])
def test_an_empty_id_is_called_empty(nobody: None, verb: str) -> None:
    assert "the text given for it is empty" in normbench(verb, "", status=2)


@pytest.mark.parametrize("arguments", [["data", "list"], ["status"], ["keys", "list"]])
def test_a_misspelt_variable_is_refused_by_every_command_but_not_by_its_help(
    nobody: None, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.setenv("NORMBENCH_DATASET_DIR", "/x")
    told = normbench(*arguments, status=2)
    assert told == "normbench: NORMBENCH_DATASET_DIR: did you mean NORMBENCH_DATASETS_DIR?\n"
    assert "Usage" in normbench(*arguments, "--help")
