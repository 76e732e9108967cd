"""Packages that cannot be used are left out with a warning, and the service does without them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from normcore.spec.analyses import ANALYSES
from normcore.spec.methods import METHODS
from normcore.spec.tasks import BENCHMARKS

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
LINES = USABLE + "    {line}\n"
BROKEN = {
    "takes_none": "takes: ClassVar = None",
    "title_number": "title: ClassVar = 3",
    "citation_none": "citation: ClassVar = None",
    "forward": "width: 'Nowhere' = None",
    "no_schema": "width: __import__('typing').Callable[[], int] = int",
    "nan": "width: __import__('typing').Any = float('nan')",
    "homeless": "home: ClassVar[str] = 'somebody.nowhere'",
    "fits_raises": "fits = classmethod(lambda cls, model: 1 / 0)",
    "defaults_raises": "defaults = classmethod(lambda cls, model: 1 / 0)",
}
"""A line of a method's options, by tag, that the service could not live with."""
TASK = """
from typing import ClassVar, Literal
from normcore.spec.task import Need
from normcore.spec.tasks.pixels import PermutedDigits

class Task(PermutedDigits):
    name: Literal["{tag}"] = "{tag}"
    {line}
"""
BROKEN_TASKS = {
    "no_profiles": "profiles: ClassVar = None",
    "no_metrics": "metrics: ClassVar = ()",
    "cost_raises": "cost = lambda self, model: 1 / 0",
    "needs_unknown": "needs = lambda self: (Need('nowhere'),)",
    "needs_raises": "needs = lambda self: 1 / 0",
    "gradient_flow": "",
    "both": "",
}
ANALYSIS = """
from typing import ClassVar, Literal
from normcore.spec.analyses.analysis import Analysis, one_size

class Analysis(Analysis):
    title: ClassVar[str] = "Somebody's"
    citation: ClassVar[str] = "Somebody 2026"
    home: ClassVar[str] = "somebody.norms"
    profiles: ClassVar = one_size("Any.")
    name: Literal["{tag}"] = "{tag}"
"""
MOODY = (
    """
from pydantic import model_validator
"""
    + USABLE.format(name="Moody", tag="moody")
    + """
    width: int = 1

    @model_validator(mode="after")
    def dislikes_two(self):
        if self.width == 6:
            raise ValueError("six is too wide; use 1")
        if self.width == 5:
            raise SystemExit("not five")
        return {1: self, 3: self, 4: self}[self.width]

    def misfit(self, model):
        return 1 / (3 - self.width) and super().misfit(model)

"""
)
HUNGRY = """
from typing import ClassVar, Literal
from normcore.spec.task import Need
from normcore.spec.tasks.pixels import PermutedDigits

class Hungry(PermutedDigits):
    name: Literal["hungry"] = "hungry"
    home: ClassVar[str] = "somebody.norms"
    portions: int = 1

    def needs(self):
        return (Need("digits"),)[: 1 // (2 - self.portions)] if self.portions != 3 else ("digits",)

    def canonical(self):
        return {**super().canonical(), "portions": {4}} if self.portions == 4 else super().canonical()
"""
PEERS = """
from typing import ClassVar, Literal
from normcore.spec.analyses.analysis import TrainedAnalysis, one_size

class Peers(TrainedAnalysis):
    title: ClassVar[str] = "Somebody's"
    citation: ClassVar[str] = "Somebody 2026"
    home: ClassVar[str] = "somebody.norms"
    profiles: ClassVar = one_size("Any.")
    name: Literal["peers"] = "peers"

    def misfit(self, task, norm):
        return 1 / 0 if norm.method == "layer_norm" else None
"""
MODULES = {
    "norms": "import no_such_compiler",
    "shadow_analysis": ANALYSIS.format(tag="char_lm"),
    "both_analysis": ANALYSIS.format(tag="both"),
    **{tag: LINES.format(name="Broken", tag=tag, line=line) for tag, line in BROKEN.items()},
    **{tag: TASK.format(tag=tag, line=line) for tag, line in BROKEN_TASKS.items()},
    "raises": "raise RuntimeError('needs another CUDA')",
    "leaves": "import sys\nsys.exit(3)",
    "half": "from somebody.raises import Half",
    "shadow": USABLE.format(name="Shadow", tag="layer_norm"),
    "tagless": "class Tagless:\n    pass",
    "usable": USABLE.format(name="Usable", tag="usable"),
    "moody": MOODY,
    "hungry": HUNGRY,
    "peers": PEERS,
}
METHODS_LINES = "\n".join(f"{tag} = somebody.{tag}:Broken" for tag in BROKEN)
TASKS_LINES = "\n".join(f"{tag} = somebody.{tag}:Task" for tag in BROKEN_TASKS)
ENTRY_POINTS = f"""\
[normbench.methods]
{METHODS_LINES}
raises = somebody.raises:Raises
leaves = somebody.leaves:Leaves
half = somebody.half:Half
layer_norm = somebody.shadow:Shadow
tagless = somebody.tagless:Tagless
not_there = somebody.not_there:NotThere
usable = somebody.usable:Usable
moody = somebody.moody:Moody

[normbench.tasks]
permuted_digits = somebody.raises:PermutedDigits
{TASKS_LINES}
hungry = somebody.hungry:Hungry

[normbench.analyses]
invariances = somebody.shadow:Shadow
char_lm = somebody.shadow_analysis:Analysis
both = somebody.both_analysis:Analysis
peers = somebody.peers:Peers
"""
PROGRAM = """
import json, sys
from starlette.testclient import TestClient
from service.app import create_app
from service.db import Database
from service.processes.migrate import migrate
from service.settings import Settings
from tests.service.sample_runs import claimed, finished, submitted

settings = Settings(data_dir=sys.argv[1], allowed_hosts="testserver")
db = Database(settings.database_url)
migrate(db)
submitted(db, "layer_norm")
trained = claimed(db).lease
finished(db, trained)
db.close()
specs = [{"task": {"name": "permuted_digits", "profile": "smoke"}, "norm": {"method": method}}
         for method in ("layer_norm", "raises")]
moods = [{"task": {"name": "feedforward", "profile": "smoke"}, "norm": {"method": "moody", "width": width}}
         for width in (1, 2, 3, 5, 6)]
moods += [{"task": {"name": "hungry", "profile": "smoke", "portions": portions}, "norm": {"method": "none"}}
          for portions in (1, 2, 3, 4)]
moods += [{"task": {"name": "peers", "run": trained.run_id}}]
with TestClient(create_app(settings, require_keys=False)) as client:
    answers = [
        client.get("/readyz"),
        client.get("/openapi.json"),
        client.get("/v1/tasks"),
        client.get("/v1/methods"),
        client.get("/v1/leaderboards"),
        client.get("/v1/methods/layer_norm/report-card"),
        *(client.post("/v1/experiments", json=spec) for spec in (*moods, *specs)),
    ]
    print(json.dumps([[answer.status_code, answer.json()] for answer in answers]))
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with these packages."""
    folder = tmp_path_factory.mktemp("packages")
    package, about = folder / "somebody", folder / "somebody-1.2.dist-info"
    package.mkdir()
    about.mkdir()
    (package / "__init__.py").touch()
    for name, source in MODULES.items():
        (package / f"{name}.py").write_text(source)
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: somebody\nVersion: 1.2\n")
    (about / "entry_points.txt").write_text(ENTRY_POINTS)
    return folder


def python(installed: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python where these packages are installed."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("NORMBENCH_")}
    environment["PYTHONPATH"] = f"{installed}{os.pathsep}{ROOT}"
    return subprocess.run(
        [sys.executable, *arguments],
        capture_output=True,
        text=True,
        env=environment,
        cwd=installed,
        timeout=SECONDS,
        check=False,
    )


@pytest.fixture(scope="module")
def started(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Any], str]:
    """Notices of a service that found these packages, and its standard error."""
    ran = python(installed, "-c", PROGRAM, str(tmp_path_factory.mktemp("data")))
    assert ran.returncode == 0, ran.stderr[-4000:]
    return json.loads(ran.stdout), ran.stderr


def test_the_service_starts_and_answers(started: tuple[list[Any], str]) -> None:
    answers, _ = started
    assert [status for status, _ in answers] == [200] * 6 + [201, *[422] * 4] + [201, *[422] * 4] + [201, 422]
    *_, refused = answers
    assert refused[1]["errors"][0]["loc"] == ["norm", "method"]


@pytest.mark.parametrize(
    ("answer", "loc", "told"),
    [
        (7, ["norm"], "moody, of somebody 1.2, failed with these options: KeyError: 2"),
        (8, ["norm"], "moody, of somebody 1.2, failed with these options: ZeroDivisionError: division by zero"),
        (9, ["norm"], "moody, of somebody 1.2, failed with these options: SystemExit: not five"),
        (12, ["task"], "hungry, of somebody 1.2, failed with these options: ZeroDivisionError: integer"),
        (13, ["task"], "hungry, of somebody 1.2, failed with these options: TypeError: needs() gave 'digits'"),
        (14, ["task"], "hungry, of somebody 1.2, failed with these options: TypeError: Object of type set"),
        (15, ["task"], "peers, of somebody 1.2, failed with these options: ZeroDivisionError: division by zero"),
    ],
)
def test_options_with_which_a_plug_in_fails_are_refused(
    started: tuple[list[Any], str], answer: int, loc: list[str], told: str
) -> None:
    [error] = started[0][answer][1]["errors"]
    assert error["loc"] == loc
    assert error["msg"].startswith(told)
    assert error["msg"].endswith("; choose others, or report it to the package")


def test_the_message_of_a_packages_own_validator_is_shown_unchanged(started: tuple[list[Any], str]) -> None:
    [error] = started[0][10][1]["errors"]
    assert (error["loc"], error["msg"]) == (["norm"], "six is too wide; use 1")


def test_usable_plug_ins_are_listed_and_do_not_replace_built_in_ones(started: tuple[list[Any], str]) -> None:
    (_, tasks), (_, methods) = started[0][2:4]
    assert [task["name"] for task in tasks["items"]] == [*BENCHMARKS, "both", "hungry", *ANALYSES, "peers"]
    assert [method["name"] for method in methods["items"]] == [*METHODS, "usable", "moody"]
    titles = {method["name"]: method["title"] for method in methods["items"]}
    assert (titles["layer_norm"], titles["usable"]) == (METHODS["layer_norm"].title, "Somebody's")


LEFT_OUT = {
    **{"raises": "RuntimeError: needs another CUDA", "leaves": "SystemExit: 3", "half": "needs another CUDA"},
    "layer_norm": "another class has this name already",
    "tagless": "expected a subclass of normcore.spec.methods.method.Method",
    "not_there": "No module named 'somebody.not_there'",
    "permuted_digits": "RuntimeError: needs another CUDA",
    "invariances": "expected a subclass of normcore.spec.analyses.analysis.Analysis",
    "takes_none": "with GRU: TypeError: ",
    **{"title_number": "title: expected text", "citation_none": "citation: expected text"},
    "forward": "its options: ",
    "no_schema": "its options: ",
    "nan": "its options: ",
    "homeless": "home: there is no module somebody.nowhere",
    "fits_raises": "with GRU: ZeroDivisionError: division by zero",
    "defaults_raises": "with AttentiveReaderModel: ZeroDivisionError: division by zero",
    "no_profiles": "profiles: expected paper, small, smoke",
    "no_metrics": "metrics: expected at least one",
    "cost_raises": "the profile paper: ZeroDivisionError: division by zero",
    "needs_unknown": "the profile paper: there is no data set 'nowhere'",
    "needs_raises": "the profile paper: ZeroDivisionError: division by zero",
    "gradient_flow": "there is a task or an analysis of that name already",
    **{
        "char_lm": "there is a task or an analysis of that name already",
        "both": "there is a task or an analysis of that name already",
    },
}


@pytest.mark.parametrize(("left_out", "reason"), LEFT_OUT.items(), ids=LEFT_OUT)
def test_each_plug_in_that_is_left_out_is_named_with_its_reason(
    started: tuple[list[Any], str], left_out: str, reason: str
) -> None:
    [line] = [
        line for line in started[1].splitlines() if f": {left_out} (somebody." in line and "UnusablePlugIn" in line
    ]
    _, _, told = line.partition(" is left out: ")
    assert reason in told


def test_no_usable_plug_in_is_left_out(started: tuple[list[Any], str]) -> None:
    assert started[1].count("UnusablePlugIn: ") == len(LEFT_OUT)


def test_a_method_that_cannot_be_imported_is_an_error_of_one_line(installed: Path, tmp_path: Path) -> None:
    """`home` names a module that exists, but a module that it imports is missing."""
    spec = {"task": {"name": "feedforward", "profile": "smoke"}, "norm": {"method": "usable"}}
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    ran = python(installed, "-W", "ignore", "-P", "-m", "normcore", str(tmp_path / "spec.json"))
    cannot = "somebody.norms:Usable cannot be imported: ModuleNotFoundError: No module named 'no_such_compiler'"
    assert (ran.returncode, ran.stdout, ran.stderr) == (2, "", f"error: usable, of somebody 1.2: {cannot}\n")


def test_an_analysis_that_cannot_be_imported_is_an_error_of_one_line(installed: Path, tmp_path: Path) -> None:
    about = tmp_path / "others-2.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: others\nVersion: 2.0\n")
    (about / "entry_points.txt").write_text("[normbench.analyses]\nlooks = looks:Analysis\n")
    (tmp_path / "looks.py").write_text(ANALYSIS.format(tag="looks").replace("somebody.norms", "looks_impl"))
    (tmp_path / "looks_impl.py").write_text("prepares = None")
    (tmp_path / "spec.json").write_text(json.dumps({"task": {"name": "looks"}}))
    ran = python(tmp_path, "-m", "normcore", "spec.json")
    cannot = "looks_impl:prepare cannot be imported: AttributeError: module 'looks_impl' has no attribute 'prepare'"
    assert (ran.returncode, ran.stdout, ran.stderr) == (2, "", f"error: looks, of others 2.0: {cannot}\n")
