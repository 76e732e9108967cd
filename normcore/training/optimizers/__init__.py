"""Optimizers, one file each.

A new optimizer needs three files: its options in ``normcore/spec/optimizers/``, a class of the same name in this
package, and a test. Both modules are called like the optimizer's tag. The class takes ``(options, parameters)``.
"""

from collections.abc import Iterable
from typing import cast

from torch import nn
from torch.optim import Optimizer

from normcore.spec import optimizers as spec


def build(options: spec.Optimizer, parameters: Iterable[nn.Parameter]) -> Optimizer:
    """Build the optimizer that ``options`` describe."""
    return cast(Optimizer, spec.OPTIMIZERS.implementation(options)(options, parameters))
