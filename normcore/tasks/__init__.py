"""Tasks: the data that a model is trained on, its loss, and the metrics of its quality.

Each family of tasks has a module. A new task needs three files: its options in ``normcore/spec/tasks/``, a class in
this package, and a test. The options name the class as ``home``; else it has the name of the options' class and stands
in the module that is called like the tag. The class takes ``(options, resources)`` and is a ``Task``.
"""

from typing import Any, cast

from normcore.spec.tasks import BENCHMARKS
from normcore.spec.tasks.benchmark import Benchmark
from normcore.tasks.task import Resources, Task


def build(options: Benchmark, resources: Resources) -> Task[Any]:
    """Build the task that ``options`` describe, and load its data.

    Raises:
        DatasetMissing, DatasetCorrupt: the task's data is not there, or not what it should be.
        ValueError: the options do not fit the data.
    """
    return cast(Task[Any], BENCHMARKS.implementation(options)(options, resources))
