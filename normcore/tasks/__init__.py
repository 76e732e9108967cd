"""Tasks: what a model is trained on, and what its quality is.

One module per task; its tag in ``normcore/spec/tasks/`` names the module, whose ``build`` takes the task's options and
gives a ``Task``. To add one, write the class of options there, the module here and a test.
"""

from importlib import import_module
from pathlib import Path
from typing import cast

import torch

from normcore.spec.tasks import Task as TaskOptions
from normcore.tasks.task import Task


def build(
    options: TaskOptions,
    datasets_dir: Path | None,
    device: torch.device,
    dtype: torch.dtype,
) -> Task:
    """The task that ``options`` asks for, its data loaded onto ``device``.

    Raises:
        DatasetMissing, DatasetCorrupt: its data is not there, or not what it should be.
        ValueError: the options do not go with the data.
    """
    module = import_module(f"normcore.tasks.{options.name}")
    return cast(Task, module.build(options, datasets_dir, device, dtype))
