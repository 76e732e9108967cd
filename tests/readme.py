"""README's blocks of code."""

import re
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "README.md").read_text()
PYTHON = re.findall(r"^```python\n(.*?)^```", TEXT, re.DOTALL | re.MULTILINE)


def recipes() -> Mapping[str, str]:
    """The files that README tells how to write: content by path, which is each block's first line."""
    captioned = (re.match(r"# (\S+\.py)\n(.*)", block, re.DOTALL) for block in PYTHON)
    return {found[1]: found[2] for found in captioned if found}


def example() -> str:
    """README's example of the Python client."""
    (block,) = (block for block in PYTHON if block.startswith("from normbench import Client"))
    return str(block)
