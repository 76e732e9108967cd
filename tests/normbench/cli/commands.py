"""Run a command in this process, or as a process of its own."""

import json
import os
import subprocess
import sys
from typing import Any

from typer.testing import CliRunner

from normbench.cli import app

SECONDS = 180.0


def normbench(*arguments: object, status: int = 0, text: str | None = None) -> str:
    """Standard output of the command, or standard error if it fails."""
    result = CliRunner().invoke(app, [str(a) for a in arguments], input=text)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == status, result.output
    if status != 0:
        assert result.stderr.startswith("normbench: "), result.stderr
        assert "Traceback" not in result.stderr
        return result.stderr
    return result.stdout


def from_json(*arguments: object) -> Any:
    return json.loads(normbench(*arguments, "--json"))


def command_process(environment: dict[str, str], *arguments: str) -> subprocess.Popen[str]:
    kept = {k: v for k, v in os.environ.items() if not k.startswith("NORMBENCH_")}
    return subprocess.Popen(
        [sys.executable, "-P", "-m", "normbench", *arguments],
        env={**kept, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
