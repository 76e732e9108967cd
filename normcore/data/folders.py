"""Default folders of data, which ``normbench up`` and ``normbench data`` use. Torch-free."""

from collections.abc import Mapping
from pathlib import Path

from platformdirs import user_data_path

DATA_DIR, DATASETS_DIR = "NORMBENCH_DATA_DIR", "NORMBENCH_DATASETS_DIR"


def user_data_dir() -> Path:
    """The user's data folder for normbench, at the operating system's usual place."""
    return user_data_path("normbench")


def datasets_dir(environment: Mapping[str, str]) -> Path:
    """The data sets' folder: $NORMBENCH_DATASETS_DIR, else ``datasets`` in $NORMBENCH_DATA_DIR or ``user_data_dir``."""
    named = environment.get(DATASETS_DIR)
    data_dir = environment.get(DATA_DIR)
    folder = Path(named) if named else (Path(data_dir) if data_dir else user_data_dir()) / "datasets"
    return folder.expanduser().absolute()
