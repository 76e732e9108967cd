"""Read a spec as a user writes it: a YAML or JSON file."""

import re
from pathlib import Path
from typing import Any

import yaml


class _Loader(yaml.SafeLoader):
    """YAML 1.1 reads 1e-3 as text for want of a dot; people mean a number."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(\d[\d_]*\.?[\d_]*|\.\d[\d_]*)[eE][-+]?\d+$"),
    list("-+.0123456789"),
)


def read_spec(path: Path) -> Any:
    """What the file holds, not yet validated.

    Raises:
        ValueError: the file is neither YAML nor JSON.
        OSError: the file cannot be read.
    """
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader=_Loader)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(f"{path} is neither YAML nor JSON: {error}") from error
