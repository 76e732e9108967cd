"""The tasks one can ask for: one class each, its tag names the file in ``normcore/tasks/``.

A new task is a class here (options and profiles), an entry in ``TASKS`` and in ``AnyTask``, a module in
``normcore/tasks/`` that loads its data and scores its model, and a test.
"""

from typing import Annotated

from pydantic import Discriminator

from normcore.spec.tasks.char_lm import CharLM
from normcore.spec.tasks.pixels import PermutedDigits, PermutedMNIST, SequentialDigits, SequentialMNIST
from normcore.spec.tasks.task import DEFAULT_PROFILE, Profile, ProfileName, Published, Task

TASKS: dict[str, type[Task]] = {
    "sequential_digits": SequentialDigits,
    "permuted_digits": PermutedDigits,
    "sequential_mnist": SequentialMNIST,
    "permuted_mnist": PermutedMNIST,
    "char_lm": CharLM,
}
AnyTask = Annotated[SequentialDigits | PermutedDigits | SequentialMNIST | PermutedMNIST | CharLM, Discriminator("name")]

__all__ = [
    "DEFAULT_PROFILE",
    "TASKS",
    "AnyTask",
    "CharLM",
    "PermutedDigits",
    "PermutedMNIST",
    "Profile",
    "ProfileName",
    "Published",
    "SequentialDigits",
    "SequentialMNIST",
    "Task",
]
