"""Tasks: what a model is trained on, and what its quality is.

One module a family of tasks. To add one, write its options in ``normcore/spec/tasks/``, here the class that they name
as ``home``, or of the same name in the module of the tag, and a test. The class takes ``(options, resources)`` and is a
``normcore.tasks.task.Task``.
"""

from typing import Any, cast

from normcore.spec.tasks import BENCHMARKS
from normcore.spec.tasks.benchmark import Benchmark
from normcore.tasks.task import Resources, Task


def build(options: Benchmark, resources: Resources) -> Task[Any]:
    """The task that these options ask for, its data loaded.

    Raises:
        DatasetMissing, DatasetCorrupt: its data is not there, or not what it should be.
        ValueError: the options do not go with the data.
    """
    return cast(Task[Any], BENCHMARKS.implementation(options)(options, resources))
