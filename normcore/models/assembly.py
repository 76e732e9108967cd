"""From the parts of a spec to a recurrent network."""

from collections.abc import Callable

from normcore.recurrent import Recurrent
from normcore.spec.model import RecurrentModel
from normcore.spec.norm import Method

MakeRecurrent = Callable[[int], Recurrent]
"""Makes a network for a number of inputs a step."""


def recurrent_of(model: RecurrentModel, norm: Method, kernel: str) -> MakeRecurrent:
    """The network that these parts of a spec describe, but for its input size."""

    def recurrent(input_size: int) -> Recurrent:
        return Recurrent(input_size=input_size, norm=norm, kernel=kernel, **model.model_dump())

    return recurrent
