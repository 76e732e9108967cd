"""Fixture for real data sets, if this machine has them."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def datasets_dir() -> Path:
    """Data sets' directory; the test is skipped if this machine has none."""
    given = os.environ.get("NORMBENCH_DATASETS_DIR")
    if not given:
        pytest.skip("data set absent")
    return Path(given)
