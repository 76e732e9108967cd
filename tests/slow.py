"""Slow tests, which ``make fast`` leaves out: tests with processes or servers, and long computations.

``LONGEST`` lists the modules with which ``make test`` begins, so that no long module runs alone at the end. A module
runs in one process.
"""

from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SERVERS = {"postgres_url", "postgres_template", "fresh_postgres_url", "redis_url", "rabbitmq_url"}  # fixtures
FOLDERS = (
    "benchmarks/faults/",
    "normbench/cli/",
    "normcore/analyses/",
    "service/pages/",
)
MODULES = (
    "benchmarks/reproductions/test_page.py",
    "examples/test_adding_problem.py",
    "examples/test_mean_absolute_norm.py",
    "guide/test_documents.py",
    "guide/test_reference.py",
    "guide/test_strict.py",
    "migrations/test_migrations.py",
    "normbench/test_client.py",
    "normbench/test_notebook_page.py",
    "normbench/test_terminal.py",
    "normcore/cells/test_a_cell_of_ones_own.py",
    "normcore/cells/test_equations.py",
    "normcore/data/test_text8_memory.py",
    "normcore/downstream/test_classification.py",
    "normcore/kernels/cpu/test_build.py",
    "normcore/kernels/cpu/test_memory.py",
    "normcore/kernels/gpu/test_check.py",
    "normcore/kernels/gpu/test_machine_code.py",
    "normcore/kernels/gpu/test_unroll.py",
    "normcore/norms/test_contract.py",
    "normcore/norms/test_habits.py",
    "normcore/spec/test_idle_options.py",
    "normcore/spec/test_tasks.py",
    "normcore/tasks/test_memory.py",
    "normcore/tasks/test_skip_thoughts.py",
    "normcore/test_analyse.py",
    "normcore/test_footprint.py",
    "normcore/test_main.py",
    "normcore/test_memory.py",
    "normcore/test_ten_checks.py",
    "normcore/test_trained_model.py",
    "normcore/training/test_every_task.py",
    "normcore/training/test_loop.py",
    "normcore/training/test_resuming.py",
    "service/experiments/test_state_diagram.py",
    "service/pages/test_journeys.py",
    "service/processes/test_local.py",
    "service/sweeps/test_training.py",
    "service/test_connections.py",
    "service/test_largest_requests.py",
    "service/test_schema.py",
    "test_journey.py",
    "test_recipes.py",
    "test_wheel.py",
    "workers/test_app.py",
    "workers/test_black_holes.py",
    "workers/test_kernels.py",
    "workers/test_loaded_code.py",
    "workers/test_memory.py",
    "workers/test_notifications.py",
    "workers/test_recovery.py",
    "workers/test_tasks.py",
    "workers/test_trainer.py",
    "workers/test_training.py",
)
LONGEST = (  # the longest first; modules that wait and modules that compute alternate
    "normcore/kernels/gpu/test_machine_code.py",
    "workers/test_recovery.py",
    "normcore/kernels/gpu/test_unroll.py",
    "normcore/training/test_every_task.py",
    "normcore/kernels/cpu/test_build.py",
    "service/processes/test_local.py",
    "normcore/training/test_resuming.py",
    "normcore/cells/test_equations.py",
    "workers/test_trainer.py",
    "test_journey.py",
    "normcore/tasks/test_memory.py",
    "test_recipes.py",
    "workers/test_gpu_check.py",
    "normcore/kernels/gpu/test_check.py",
    "workers/test_kernels.py",
    "normcore/kernels/cpu/test_unroll.py",
    "service/pages/test_boards.py",
    "normcore/test_analyse.py",
    "workers/test_black_holes.py",
    "benchmarks/faults/test_lease.py",
    "normcore/training/test_loop.py",
    "workers/test_app.py",
    "normcore/analyses/test_gradient_flow.py",
    "examples/test_mean_absolute_norm.py",
    "examples/test_adding_problem.py",
    "workers/test_tasks.py",
    "guide/test_documents.py",
    "service/test_schema.py",
    "service/experiments/test_stream.py",
    "service/experiments/lifecycle/test_cancelling.py",
    "normbench/cli/test_servers.py",
    "normbench/cli/test_background.py",
    "normbench/cli/test_demo.py",
    "normbench/test_terminal.py",
    "test_boundaries.py",
)


def start_early(module: Path) -> int:
    """Sort key of a module in the order of ``make test``."""
    path = module.relative_to(TESTS).as_posix()
    return LONGEST.index(path) if path in LONGEST else len(LONGEST)


def is_slow(item: pytest.Item) -> bool:
    """Tell if a test is slow, because of its module or of a fixture."""
    path = item.nodeid.partition("::")[0].removeprefix("tests/")
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    return (
        path in MODULES
        or path.startswith(FOLDERS)
        or "postgresql" in parameters.values()
        or not SERVERS.isdisjoint(getattr(item, "fixturenames", ()))
        or (parameters.get("broker_url") == "redis")
    )
