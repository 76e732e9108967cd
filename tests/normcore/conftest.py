"""Real data sets, where this machine has them."""

import os
from pathlib import Path

import pytest


@pytest.fixture
def datasets_dir() -> Path:
    """The data sets' directory; skips the test where there is none."""
    given = os.environ.get("NORMBENCH_DATASETS_DIR")
    if not given:
        pytest.skip("data set absent")
    return Path(given)
