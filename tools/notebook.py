"""Run the example notebook against the service at ``NORMBENCH_URL``, and store it with its outputs.

``python -m tools.notebook``, after a change of the notebook or of what it shows.
"""

from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

EXAMPLE = Path(__file__).parent.parent / "docs" / "use" / "example.ipynb"
TIMEOUT_SECONDS = 300


def execute(path: Path, folder: Path) -> Any:
    """Run all cells of a notebook in a new kernel, and return the notebook with its outputs.

    Args:
        folder: the folder in which the kernel runs.
    """
    notebook = nbformat.read(path, as_version=nbformat.NO_CONVERT)
    NotebookClient(notebook, timeout=TIMEOUT_SECONDS, resources={"metadata": {"path": str(folder)}}).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # times
    return notebook


if __name__ == "__main__":
    nbformat.write(execute(EXAMPLE, Path.cwd()), EXAMPLE)
