"""Registry of the benchmarks. Each benchmark is a class of options and profiles; ``normcore/tasks/`` implements it.

A package of yours adds a task by an entry point in the group ``normbench.tasks``: see ``examples/``.
"""

from normcore.spec.registry import Registry
from normcore.spec.tasks.benchmark import Benchmark

BENCHMARKS = Registry("tasks", Benchmark, __name__, tag="name", implemented_in="normcore.tasks")
