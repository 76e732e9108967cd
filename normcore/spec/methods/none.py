r"""Method without normalization.

$$N(a) = a$$
"""

from typing import ClassVar, Literal

from normcore.spec.methods.method import Method
from normcore.spec.models.model import Place


class NoNorm(Method):
    """The baseline: summed inputs are used as they are.

    Choose it as the baseline. Costs and speed-ups of all methods are measured against it.
    """

    title: ClassVar[str] = "No normalization"
    citation: ClassVar[str] = "Hochreiter and Schmidhuber 1997, Neural Computation 9(8)"
    takes: ClassVar[frozenset[Place]] = frozenset({"input", "recurrent", "sum", "cell", "layer", "output", "attention"})

    method: Literal["none"] = "none"
