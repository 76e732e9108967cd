"""Compose file and Dockerfile agree with the command line and the settings. The tests read them and start nothing."""

import importlib
import json
import re
import tomllib
from pathlib import Path
from typing import Any

import click
import pytest
import typer
import yaml

from normbench.cli import app
from normcore.kernels.cpu.load import CAPABILITIES
from tests.documents import PAGES, blocks
from workers.settings import WorkerSettings

ROOT = Path(__file__).parent.parent
COMPOSE = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
OURS = {name: service for name, service in COMPOSE["services"].items() if "build" in service}


def parsed(arguments: list[str]) -> tuple[str, dict[str, Any]]:
    """Return the command that ``normbench ARGUMENTS`` would run, and its options."""
    root = typer.main.get_command(app)
    assert isinstance(root, click.Group) or hasattr(root, "commands")
    command = root.commands[arguments[0]]
    context = command.make_context(arguments[0], list(arguments[1:]))
    return arguments[0], context.params


def test_the_cluster_has_all_its_parts() -> None:
    assert set(OURS) == {"api", "scheduler", "worker-cpu", "worker-gpu"}
    assert set(COMPOSE["services"]) - set(OURS) == {"postgres", "redis"}


@pytest.mark.parametrize(
    ("service", "command", "options"),
    [
        ("api", "api", {"host": "0.0.0.0", "port": 8000}),
        ("scheduler", "scheduler", {}),
        ("worker-cpu", "worker", {"device": "cpu"}),
        ("worker-gpu", "worker", {"device": "cuda:0"}),
    ],
)
def test_every_service_runs_an_existing_command(service: str, command: str, options: dict[str, Any]) -> None:
    name, params = parsed(OURS[service]["command"])
    assert name == command
    assert options.items() <= params.items()


def test_all_processes_share_one_database_and_one_broker() -> None:
    for variable in ("NORMBENCH_DATABASE_URL", "NORMBENCH_BROKER_URL"):
        assert len({service["environment"][variable] for service in OURS.values()}) == 1
    api = OURS["api"]["environment"]
    assert "@postgres/" in api["NORMBENCH_DATABASE_URL"]
    assert api["NORMBENCH_BROKER_URL"].startswith("redis://redis:")


def test_every_variable_is_a_setting() -> None:
    known = {f"NORMBENCH_{name.upper()}" for name in WorkerSettings.model_fields}
    used = {name for s in OURS.values() for name in s["environment"] if name.startswith("NORMBENCH_")}
    used |= set(re.findall(r"NORMBENCH_\w+", (ROOT / "Dockerfile").read_text()))
    assert used <= known


def test_the_gpu_worker_gets_the_gpu_and_time_for_its_last_checkpoint() -> None:
    gpu = OURS["worker-gpu"]
    assert gpu["runtime"] == "nvidia"
    assert gpu["profiles"] == ["gpu"]
    grace = WorkerSettings.model_fields["grace_seconds"].default
    for worker in ("worker-cpu", "worker-gpu"):
        assert int(OURS[worker]["stop_grace_period"].removesuffix("s")) > grace


def test_the_image_holds_every_package_and_starts_the_command() -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]["find"]["include"]
    for package in packages:
        name = package.removesuffix("*")
        assert f"COPY {name} {name}" in dockerfile
        assert f"!{name}" in (ROOT / ".dockerignore").read_text().splitlines()
    assert re.findall(r"^FROM (.*)$", dockerfile, re.MULTILINE) == [
        "python:3.12-slim AS build",
        "python:3.12-slim AS service",
        "service AS gpu",
        "service",
    ]
    entrypoint = re.search(r"^ENTRYPOINT (.*)$", dockerfile, re.MULTILINE)
    assert entrypoint
    assert json.loads(entrypoint[1]) == ["normbench"]


def test_image_holds_kernels_for_the_processors_of_its_nodes() -> None:
    """The build command exists, and builds for the right processors into the installed package. The next stage of the
    image copies the package, and has no compiler."""
    build, final, *_ = (ROOT / "Dockerfile").read_text().split("\nFROM ")
    found = re.search(r"^RUN python -P -m (\S+) (.+)$", build, re.MULTILINE)
    assert found, "with -P, as the sources stand in the current directory"
    module = importlib.import_module(found[1])
    assert module.__file__ is not None
    assert 'if __name__ == "__main__":\n    main(' in Path(module.__file__).read_text()
    assert found[2].split() == ["x86-64-v3", "x86-64-v4"]
    assert set(found[2].split()) <= set(CAPABILITIES.values()) <= set(module.INSTRUCTION_SETS)
    steps = [
        re.search(pattern, build) for pattern in (r"apt-get install .*\bg\+\+ ", "pip install", re.escape(found[0]))
    ]
    places = [step.start() for step in steps if step]
    assert len(places) == 3
    assert places == sorted(places)
    assert "g++" not in final
    assert "COPY --from=build /venv /venv" in final


def test_the_gpu_workers_image_has_what_triton_needs_and_keeps_what_it_compiles() -> None:
    worker = OURS["worker-gpu"]
    assert worker["build"]["target"] == "gpu"
    assert worker["image"] != OURS["worker-cpu"]["image"]
    stage = (ROOT / "Dockerfile").read_text().split("\nFROM ")[2]
    assert re.search(r"apt-get install .*\bgcc\b", stage)
    assert "XDG_CACHE_HOME=/cache" in stage
    assert "TRITON_CACHE_DIR=/cache/triton" in stage
    assert worker["volumes"] == [*OURS["worker-cpu"]["volumes"], "kernels:/cache"]
    assert stage.rindex("USER normbench") > stage.rindex("apt-get")


def test_documents_name_only_existing_commands() -> None:
    known = set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
    shown = "\n".join(block.text for page in PAGES for block in blocks(page) if block.language == "sh")
    code = [shown, *(text for page in PAGES for text in re.findall(r"`([^`\n]+)`", page.read_text()))]
    named = {name for text in code for name in re.findall(r"(?<![\w/] )\bnormbench ([a-z]+(?:-[a-z]+)*)\b", text)}
    assert named >= {"up", "submit", "keys", "worker"}
    assert named <= known
