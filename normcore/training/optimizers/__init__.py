"""Optimizers, one file each.

To add one, write its options in the module of its tag in ``normcore/spec/optimizers/``, a class of the same name in the
module of its tag here, and a test. The class takes ``(options, parameters)``.
"""

from collections.abc import Iterable
from typing import cast

from torch import nn
from torch.optim import Optimizer

from normcore.spec import optimizers as spec


def build(options: spec.Optimizer, parameters: Iterable[nn.Parameter]) -> Optimizer:
    """The optimizer that these options ask for."""
    return cast(Optimizer, spec.OPTIMIZERS.implementation(options)(options, parameters))
