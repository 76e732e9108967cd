"""Rules on imports, on where torch may be loaded, and on an implementation and a test for every part of a spec."""

import ast
import json
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from normcore.spec.analyses import ANALYSES
from normcore.spec.cells import CELLS
from normcore.spec.methods import METHODS
from normcore.spec.models import MODELS
from normcore.spec.models.recurrent import RecurrentModel
from normcore.spec.optimizers import OPTIMIZERS
from normcore.spec.part import Part
from normcore.spec.registry import Registry
from normcore.spec.tasks import BENCHMARKS

ROOT = Path(__file__).parent.parent
MAY_IMPORT: Mapping[str, set[str]] = {
    "normbench": {"normbench", "normcore", "service"},
    "normcore": {"normcore"},
    "service": {"service", "normcore"},
    "workers": {"workers", "service", "normcore"},
    "migrations": {"migrations", "service", "normcore"},
}
OURS = {"normbench", "normcore", "service", "workers", "migrations", "tests", "benchmarks"}


def modules(package: str) -> list[Path]:
    return sorted((ROOT / package).rglob("*.py"))


@cache
def nodes(path: Path) -> list[ast.AST]:
    """Nodes of a module's syntax tree. Many rules look at the same module."""
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def imported(path: Path) -> Iterator[str]:
    """Modules that a file imports, at its top or inside a function, as dotted paths."""
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relative to itself; write the path in full"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


CLIENT = "import normbench, normbench.cli, normbench.__main__"
WORKER = "import workers.app"
START = "import service.processes.local, service.processes.serve"
WITHOUT_TORCH = [
    CLIENT,
    "import normcore.spec, normcore.events, normcore.data.registry, normcore.variables",
    "from normcore.papers import papers; assert papers()",
    WORKER,
    START,
    "import service.processes.supervisor, service.processes.scheduler",
    "import service.app",
    "from service.app import create_app; from service.settings import Settings;"
    " create_app(Settings(data_dir={folder!r}), require_keys=False).openapi()",
]
LOAD = """
import json, sys
for program in sys.argv[1:]:
    exec(program, {})
    print(json.dumps([program, sorted(sys.modules)]))
"""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """Modules that a fresh process has loaded after each program and those before it."""
    folder = str(tmp_path_factory.mktemp("data"))
    programs = {program.format(folder=folder): program for program in WITHOUT_TORCH}
    done = subprocess.run(
        [sys.executable, "-c", LOAD, *programs], cwd=ROOT, capture_output=True, text=True, timeout=180, check=True
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {programs[program]: set(names) for program, names in lines}


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_packages_import_only_lower_packages(package: str) -> None:
    files = modules(package)
    assert files
    wrong = [
        f"{path.relative_to(ROOT)} imports {name}"
        for path in files
        for name in imported(path)
        if (top := name.partition(".")[0]) in OURS and top not in MAY_IMPORT[package]
    ]
    assert wrong == []


def test_client_and_command_line_import_no_server_and_no_science_packages(loaded: dict[str, set[str]]) -> None:
    packages = loaded[CLIENT]
    assert packages & OURS == {"normbench", "normcore"}
    assert not packages & {"celery", "fastapi", "numpy", "pandas", "sklearn", "sqlalchemy", "uvicorn"}
    for path in modules("normbench"):
        science = {name for name in imported(path) if name.startswith("normcore.")}
        light = ("normcore.spec.", "normcore.data.", "normcore.variables.")
        assert all(name.startswith(light) for name in science), path


def test_workers_import_no_web_framework_and_no_code_of_migrations(loaded: dict[str, set[str]]) -> None:
    """The imports would make each start of a worker almost a second longer."""
    assert not loaded[WORKER] & {"fastapi", "starlette", "uvicorn"}
    assert not loaded[WORKER] & {"alembic", "service.processes.run_migrations", "service.upgrade"}


def test_the_service_checks_that_it_can_start_before_it_imports_its_application(loaded: dict[str, set[str]]) -> None:
    """The application takes a second."""
    assert not loaded[START] & {"fastapi", "service.app", "service.processes.scheduler", "service.processes.supervisor"}


def test_the_parser_sees_every_kind_of_import(tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text("import a.b\ndef f():\n    from c.d import e\nif 0:\n    import g as h\n")
    assert sorted(imported(path)) == ["a.b", "c.d.e", "g"]


def test_migrations_declare_their_own_columns() -> None:
    files = modules("migrations/versions")
    assert [path for path in files if path.name != "__init__.py"]
    wrong = [
        f"{path.name} imports {name}" for path in files for name in imported(path) if name.partition(".")[0] in OURS
    ]
    assert wrong == []


def test_rooms_of_the_service_read_only_allowed_tables_of_other_rooms() -> None:
    allowed = {
        "comparisons": {"experiments", "leaderboards"},
        "leaderboards": {"experiments"},
        "experiments": set(),
        "fleet": set(),
        "workload": {"experiments", "fleet"},
        "keys": set(),
        "catalogue": set(),
        "citations": set(),
        "pages": set(),
        "report_cards": {"experiments"},
        "sweeps": {"experiments", "leaderboards"},
    }
    for room, others in allowed.items():
        for path in modules(f"service/{room}"):
            for name in imported(path):
                parts = name.split(".")
                if parts[0] == "service" and len(parts) > 2 and parts[2] == "tables":
                    assert parts[1] in {room, "http", *others}, f"{path} imports {name}"


ROOMS: Mapping[str, set[str]] = {  # room: other rooms that it may use besides http
    "catalogue": set(),
    "citations": {"experiments"},
    "comparisons": {"experiments", "leaderboards", "paper", "statistics"},
    "experiments": {"fleet", "statistics"},
    "fleet": set(),
    "http": {"paper"},
    "keys": set(),
    "leaderboards": {"experiments", "paper", "statistics"},
    "pages": {
        "catalogue",
        "comparisons",
        "experiments",
        "fleet",
        "keys",
        "leaderboards",
        "report_cards",
        "statistics",
        "sweeps",
        "workload",
    },
    "paper": set(),
    "processes": {"experiments", "fleet", "keys", "leaderboards", "sweeps", "workload"},
    "report_cards": {"experiments", "leaderboards", "paper", "statistics"},
    "statistics": set(),
    "sweeps": {"experiments", "leaderboards", "paper", "statistics"},
    "transports": set(),
    "workload": {"experiments", "fleet"},
}
BRING_ROOMS_TOGETHER = {"app", "metrics", "old_specs", "results", "upgrade"}  # modules outside of the rooms


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_of_the_service_use_only_the_rooms_they_build_on(room: str) -> None:
    foreign = ROOMS.keys() - {room, "http", *ROOMS[room]}
    for path in modules(f"service/{room}"):
        assert rooms_in(path).isdisjoint(foreign), path


def test_dependencies_between_rooms_have_no_cycle() -> None:
    TopologicalSorter(ROOMS).prepare()


def test_modules_shared_by_all_rooms_use_no_room() -> None:
    for path in (ROOT / "service").glob("*.py"):
        if path.stem not in BRING_ROOMS_TOGETHER:
            assert rooms_in(path) <= {"http"}, path


def rooms_in(path: Path) -> set[str]:
    """Rooms of the service that a module imports."""
    names = [name.split(".") for name in imported(path)]
    return {parts[1] for parts in names if parts[0] == "service" and len(parts) > 1} & ROOMS.keys()


@pytest.mark.parametrize("package", ["service", "workers", "normcore"])
def test_imports_of_modules_have_no_cycle(package: str) -> None:
    names = {".".join(path.relative_to(ROOT).with_suffix("").parts) for path in modules(package)}
    below = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): {
            found for name in imported(path) if (found := module_of(name, names)) is not None
        }
        for path in modules(package)
    }
    TopologicalSorter(below).prepare()


def module_of(name: str, modules: Collection[str]) -> str | None:
    """Module that is loaded by an import of ``name``: ``name`` itself, or the module that contains it."""
    above = name.rpartition(".")[0]
    return next((module for module in (name, above) if module in modules), None)


def test_every_room_of_the_service_has_its_rule() -> None:
    folders = {path.parent.name for path in (ROOT / "service").glob("*/__init__.py")}
    assert folders == set(ROOMS)


def calls(path: Path) -> Iterator[ast.Call]:
    """Calls in a module."""
    return (node for node in nodes(path) if isinstance(node, ast.Call))


def test_only_the_lifecycle_changes_a_runs_state() -> None:
    """Only ``lifecycle`` has statements that update runs, and no other module changes the state of a row."""
    for package in ("service", "workers", "normbench"):
        for path in modules(package):
            updates = [node for node in calls(path) if ast.unparse(node) == "update(Run)"]
            changes = [
                node for node in nodes(path) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
            ]
            changed_states = [node for node in changes if node.attr == "state" and ast.unparse(node) != "app.state"]
            if path.parent != ROOT / "service" / "experiments" / "lifecycle":
                assert updates + changed_states == [], path


def test_only_results_ends_runs_and_refreshes_entries() -> None:
    """A caller that ended a run without refreshing its entry would leave an outdated board."""
    verbs = {"lifecycle.finish", "lifecycle.finish_analysis", "entries.refresh"}
    callers = {
        path.relative_to(ROOT).as_posix()
        for package in ("service", "workers", "normbench")
        for path in modules(package)
        for node in calls(path)
        if ast.unparse(node.func) in verbs
    }
    assert callers == {"service/results.py"}


@pytest.mark.parametrize("program", WITHOUT_TORCH)
def test_torch_stays_out_of_processes_that_do_not_train(program: str, loaded: dict[str, set[str]]) -> None:
    assert not {"torch", "sklearn"} & loaded[program]


REGISTRIES: Mapping[str, Registry[Any]] = {
    "tasks": BENCHMARKS,
    "analyses": ANALYSES,
    "methods": METHODS,
    "cells": CELLS,
    "models": MODELS,
    "optimizers": OPTIMIZERS,
}
OURS_BY_TAG = [
    pytest.param(registry, kind, id=f"{name}-{tag}")
    for name, registry in REGISTRIES.items()
    for tag, kind in registry.ours.items()
]


def implemented(registry: Registry[Any], kind: type[Part]) -> tuple[str, str]:
    """Return the module that implements a class of options, and the name of the implementation."""
    if registry is ANALYSES:
        return registry.module_of(kind), "prepare"
    if kind is RecurrentModel:  # a family; its classes are the cells
        return "normcore.recurrent", "Recurrent"
    module, (home, _, name) = registry.module_of(kind), kind.home.partition(":")
    return module, name if name and home == module else kind.__name__


@pytest.mark.parametrize(("registry", "kind"), OURS_BY_TAG)
def test_every_class_of_options_has_an_implementation_and_a_test(registry: Registry[Any], kind: type[Part]) -> None:
    """Classes of one family share a module and a test."""
    module, name = implemented(registry, kind)
    assert module.startswith("normcore.")
    found = getattr(import_module(module), name)
    assert callable(found)
    if registry is not ANALYSES and kind is not RecurrentModel:
        assert registry.implementation(kind.model_construct()) is found
    folder, _, stem = module.rpartition(".")
    tests = ROOT / "tests" / folder.replace(".", "/")
    assert (tests / f"test_{stem}.py").is_file() or any((tests / stem).glob("test_*.py")), f"{module} has no test"


@pytest.mark.parametrize("package", ["normbench", "service"])
def test_every_module_says_what_it_is_for(package: str) -> None:
    for path in modules(package):
        module = nodes(path)[0]
        assert isinstance(module, ast.Module)
        if module.body:
            assert ast.get_docstring(module), f"{path.relative_to(ROOT)} has no docstring"
