"""Registry of the optimizers. Each optimizer is a class of options in the module of its tag;
``normcore/training/optimizers/`` implements the optimizer.
"""

from normcore.spec.optimizers.optimizer import Optimizer
from normcore.spec.registry import Registry

__all__ = ["OPTIMIZERS", "Optimizer"]

OPTIMIZERS = Registry("optimizers", Optimizer, __name__, tag="name", implemented_in="normcore.training.optimizers")
