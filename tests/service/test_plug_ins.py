"""Packages that cannot be used are left out with a warning, and the service does without them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from normcore.spec import TASKS
from normcore.spec.methods import METHODS

ROOT = Path(__file__).parents[2]
SECONDS = 120
USABLE = """
from typing import ClassVar, Literal
from normcore.spec.methods.method import Method

class {name}(Method):
    title: ClassVar[str] = "Somebody's"
    citation: ClassVar[str] = "Somebody 2026"
    takes: ClassVar = frozenset({{"layer"}})
    home: ClassVar[str] = "somebody.norms"

    method: Literal["{tag}"] = "{tag}"
"""
MODULES = {
    "raises": "raise RuntimeError('needs another CUDA')",
    "leaves": "import sys\nsys.exit(3)",
    "half": "from somebody.raises import Half",
    "shadow": USABLE.format(name="Shadow", tag="layer_norm"),
    "tagless": "class Tagless:\n    pass",
    "usable": USABLE.format(name="Usable", tag="usable"),
}
ENTRY_POINTS = """\
[normbench.methods]
raises = somebody.raises:Raises
leaves = somebody.leaves:Leaves
half = somebody.half:Half
layer_norm = somebody.shadow:Shadow
tagless = somebody.tagless:Tagless
not_there = somebody.not_there:NotThere
usable = somebody.usable:Usable

[normbench.tasks]
permuted_digits = somebody.raises:PermutedDigits

[normbench.analyses]
invariances = somebody.shadow:Shadow
"""
PROGRAM = """
import json, sys
from starlette.testclient import TestClient
from service.app import create_app
from service.db import Database
from service.processes.migrate import migrate
from service.settings import Settings

settings = Settings(data_dir=sys.argv[1], allowed_hosts="testserver")
db = Database(settings.database_url)
migrate(db)
db.close()
specs = [{"task": {"name": "permuted_digits", "profile": "smoke"}, "norm": {"method": method}}
         for method in ("layer_norm", "raises")]
with TestClient(create_app(settings, require_keys=False)) as client:
    answers = [
        client.get("/readyz"),
        client.get("/openapi.json"),
        client.get("/v1/tasks"),
        client.get("/v1/methods"),
        client.get("/v1/leaderboards"),
        client.get("/v1/methods/layer_norm/report-card"),
        *(client.post("/v1/experiments", json=spec) for spec in specs),
    ]
    print(json.dumps([[answer.status_code, answer.json()] for answer in answers]))
"""


@pytest.fixture(scope="module")
def started(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Any], str]:
    """What a service said that found these packages, and what it wrote on standard error."""
    folder = tmp_path_factory.mktemp("packages")
    package, about = folder / "somebody", folder / "somebody-1.2.dist-info"
    package.mkdir()
    about.mkdir()
    (package / "__init__.py").touch()
    for name, source in MODULES.items():
        (package / f"{name}.py").write_text(source)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: somebody\nVersion: 1.2\n")
    (about / "entry_points.txt").write_text(ENTRY_POINTS)
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NORMBENCH_")}
    environment["PYTHONPATH"] = f"{folder}{os.pathsep}{ROOT}"
    command = [sys.executable, "-c", PROGRAM, str(tmp_path_factory.mktemp("data"))]
    ran = subprocess.run(
        command, capture_output=True, text=True, env=environment, cwd=folder, timeout=SECONDS, check=False
    )
    assert ran.returncode == 0, ran.stderr[-4000:]
    return json.loads(ran.stdout), ran.stderr


def test_the_service_starts_and_answers(started: tuple[list[Any], str]) -> None:
    answers, _ = started
    assert [status for status, _ in answers] == [200, 200, 200, 200, 200, 200, 201, 422]
    *_, refused = answers
    assert refused[1]["errors"][0]["loc"] == ["norm", "method"]


def test_what_can_be_used_is_there_and_nothing_of_ours_is_shadowed(started: tuple[list[Any], str]) -> None:
    (_, tasks), (_, methods) = started[0][2:4]
    assert [task["name"] for task in tasks["items"]] == list(TASKS)
    assert [method["name"] for method in methods["items"]] == [*METHODS, "usable"]
    titles = {method["name"]: method["title"] for method in methods["items"]}
    assert (titles["layer_norm"], titles["usable"]) == (METHODS["layer_norm"].title, "Somebody's")


@pytest.mark.parametrize(
    "left_out", ["raises", "leaves", "half", "layer_norm", "tagless", "not_there", "permuted_digits", "invariances"]
)
def test_what_is_left_out_is_named_with_its_reason(started: tuple[list[Any], str], left_out: str) -> None:
    [line] = [
        line for line in started[1].splitlines() if f": {left_out} (somebody." in line and "UnusablePlugIn" in line
    ]
    assert "is left out: " in line
    if left_out == "raises":
        assert line.endswith("needs another CUDA")
