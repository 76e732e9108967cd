"""Slow tests, which ``make fast`` leaves out: tests with processes or servers, and modules that take two seconds of
processor time or more.

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
    "normcore/kernels/cpu/",
    "normcore/kernels/gpu/",
    "service/pages/",
)
MODULES = (
    "benchmarks/reproductions/test_page.py",
    "examples/test_adding_problem.py",
    "examples/test_mean_absolute_norm.py",
    "guide/test_documents.py",
    "guide/test_reference.py",
    "guide/test_strict.py",
    "migrations/test_m0004.py",
    "migrations/test_migrations.py",
    "normbench/test_client.py",
    "normbench/test_notebook_page.py",
    "normbench/test_terminal.py",
    "normcore/cells/test_a_cell_of_ones_own.py",
    "normcore/cells/test_contract.py",
    "normcore/cells/test_equations.py",
    "normcore/data/test_text8_memory.py",
    "normcore/data/test_triples.py",
    "normcore/downstream/test_classification.py",
    "normcore/downstream/test_relatedness.py",
    "normcore/kernels/test_choose.py",
    "normcore/models/test_attentive_reader.py",
    "normcore/norms/test_contract.py",
    "normcore/norms/test_habits.py",
    "normcore/norms/test_large_values.py",
    "normcore/spec/test_ranges.py",
    "normcore/spec/test_registry.py",
    "normcore/spec/test_resolve.py",
    "normcore/spec/test_tasks.py",
    "normcore/spec/test_trial.py",
    "normcore/tasks/test_attentive_reader.py",
    "normcore/tasks/test_items.py",
    "normcore/tasks/test_memory.py",
    "normcore/tasks/test_skip_thoughts.py",
    "normcore/tasks/test_targets.py",
    "normcore/test_analyse.py",
    "normcore/test_footprint.py",
    "normcore/test_footprint_of_analyses.py",
    "normcore/test_loaded_options.py",
    "normcore/test_main.py",
    "normcore/test_memory.py",
    "normcore/test_own_code.py",
    "normcore/test_probe.py",
    "normcore/test_run.py",
    "normcore/test_ten_checks.py",
    "normcore/test_trained_model.py",
    "normcore/training/test_draws.py",
    "normcore/training/test_every_task.py",
    "normcore/training/test_loop.py",
    "normcore/training/test_resuming.py",
    "service/catalogue/test_routes.py",
    "service/comparisons/test_figures.py",
    "service/comparisons/test_routes.py",
    "service/experiments/lifecycle/test_cancelling.py",
    "service/experiments/lifecycle/test_lease.py",
    "service/experiments/test_bad_input.py",
    "service/experiments/test_downloads.py",
    "service/experiments/test_figures.py",
    "service/experiments/test_fused_kernels.py",
    "service/experiments/test_lists.py",
    "service/experiments/test_memory.py",
    "service/experiments/test_planning.py",
    "service/experiments/test_runs.py",
    "service/experiments/test_state_diagram.py",
    "service/experiments/test_stream.py",
    "service/experiments/test_turns.py",
    "service/http/test_compression.py",
    "service/http/test_conditional.py",
    "service/http/test_methods.py",
    "service/http/test_openapi.py",
    "service/keys/test_browser.py",
    "service/keys/test_guard.py",
    "service/leaderboards/submitted/test_routes.py",
    "service/leaderboards/test_budgets.py",
    "service/leaderboards/test_columns.py",
    "service/leaderboards/test_entries.py",
    "service/leaderboards/test_huge_values.py",
    "service/leaderboards/test_older_parts.py",
    "service/leaderboards/test_overall.py",
    "service/leaderboards/test_own_code.py",
    "service/leaderboards/test_papers.py",
    "service/leaderboards/test_problems.py",
    "service/leaderboards/test_ranked_board.py",
    "service/leaderboards/test_routes.py",
    "service/processes/test_local.py",
    "service/processes/test_scheduler.py",
    "service/report_cards/test_routes.py",
    "service/statistics/test_anytime.py",
    "service/statistics/test_differences.py",
    "service/statistics/test_speedups.py",
    "service/statistics/test_spread.py",
    "service/statistics/test_times.py",
    "service/sweeps/test_adaptive.py",
    "service/sweeps/test_columns.py",
    "service/sweeps/test_routes.py",
    "service/sweeps/test_training.py",
    "service/test_app.py",
    "service/test_connections.py",
    "service/test_largest_requests.py",
    "service/test_plug_ins.py",
    "service/test_queue.py",
    "service/test_schema.py",
    "service/test_silent_store.py",
    "service/workload/test_backlog.py",
    "test_boundaries.py",
    "test_journey.py",
    "test_recipes.py",
    "test_walk.py",
    "test_wheel.py",
    "workers/test_app.py",
    "workers/test_black_holes.py",
    "workers/test_gpu_check.py",
    "workers/test_kernels.py",
    "workers/test_loaded_code.py",
    "workers/test_memory.py",
    "workers/test_notifications.py",
    "workers/test_recovery.py",
    "workers/test_report.py",
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


def is_slow_module(path: Path) -> bool:
    """Tell if all tests of a module, or of a folder, are slow."""
    inside = f"{path.relative_to(TESTS).as_posix()}{'/' if path.is_dir() else ''}"
    return inside in MODULES or inside.startswith(FOLDERS)


def is_slow(item: pytest.Item) -> bool:
    """Tell if a test is slow, because of its module or of a fixture."""
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    return (
        is_slow_module(item.path)
        or "postgresql" in parameters.values()
        or not SERVERS.isdisjoint(getattr(item, "fixturenames", ()))
        or (parameters.get("broker_url") == "redis")
    )
