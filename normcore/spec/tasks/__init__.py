"""The benchmarks one can ask for: a class of options and profiles each; ``normcore/tasks/`` implements them.

A package of yours adds a task by an entry point in the group ``normbench.tasks``: see ``examples/``.
"""

from normcore.spec.registry import Registry
from normcore.spec.tasks.benchmark import Benchmark

BENCHMARKS = Registry("tasks", Benchmark, __name__, tag="name", implemented_in="normcore.tasks")
