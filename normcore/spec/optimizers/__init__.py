"""The optimizers one can ask for: a class of options each, in the module of its tag; ``normcore/training/optimizers/``
implements them.
"""

from normcore.spec.optimizers.optimizer import Optimizer
from normcore.spec.registry import Registry

__all__ = ["OPTIMIZERS", "Optimizer"]

OPTIMIZERS = Registry("optimizers", Optimizer, __name__, tag="name", implemented_in="normcore.training.optimizers")
