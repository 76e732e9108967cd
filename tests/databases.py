"""Databases on which tests run."""

import pytest

FOLDER = "tests.service"
SQLITE_ALONE = {
    "comparisons.test_columns",
    "comparisons.test_figures",
    "experiments.test_certificates",
    "experiments.test_runs",
    "keys.test_browser",
    "keys.test_guard",
    "leaderboards.test_budgets",
    "leaderboards.test_columns",
    "leaderboards.test_papers",
    "leaderboards.test_ranked_board",
    "leaderboards.test_routes",
    "sweeps.test_columns",
    "sweeps.test_reuse",
}
"""Modules whose queries are all put to PostgreSQL by other modules as well. A module whose code gets a query of its own
leaves this list.
"""


def choose_database(metafunc: pytest.Metafunc) -> None:
    """Let the tests of some modules run on SQLite alone, unless a test names its databases itself."""
    module = metafunc.module.__name__.removeprefix(f"{FOLDER}.")
    names_them = any(mark.args[0] == "database_url" for mark in metafunc.definition.iter_markers("parametrize"))
    if module in SQLITE_ALONE and "database_url" in metafunc.fixturenames and not names_them:
        metafunc.definition.add_marker(pytest.mark.parametrize("database_url", ["sqlite"], indirect=True))
