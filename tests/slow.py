"""Which tests ``make test-fast`` leaves out: those that need processes or servers, and long computations."""

import pytest

SERVERS = {"postgres_url", "postgres_template", "fresh_postgres_url", "redis_url", "rabbitmq_url"}  # fixtures
FOLDERS = (
    "benchmarks/faults/",
    "examples/",
    "normbench/cli/",
    "normcore/analyses/",
)
MODULES = (
    "migrations/test_migrations.py",
    "normbench/test_client.py",
    "normbench/test_readme.py",
    "normbench/test_terminal.py",
    "normcore/cells/test_equations.py",
    "normcore/norms/test_contract.py",
    "normcore/spec/test_tasks.py",
    "normcore/test_analyse.py",
    "normcore/test_main.py",
    "normcore/test_memory.py",
    "normcore/test_ten_checks.py",
    "normcore/test_train.py",
    "normcore/test_trained.py",
    "service/experiments/test_state_diagram.py",
    "service/test_connections.py",
    "service/test_local.py",
    "service/test_schema.py",
    "test_journey.py",
    "workers/test_app.py",
    "workers/test_black_holes.py",
    "workers/test_recovery.py",
    "workers/test_trainer.py",
)


def is_slow(item: pytest.Item) -> bool:
    """Whether the test's module or what it asks for takes long."""
    path = item.nodeid.partition("::")[0].removeprefix("tests/")
    parameters = getattr(getattr(item, "callspec", None), "params", {})
    return (
        path in MODULES
        or path.startswith(FOLDERS)
        or "postgresql" in parameters.values()
        or not SERVERS.isdisjoint(getattr(item, "fixturenames", ()))
        or (parameters.get("broker_url") == "redis")
    )
