"""From the parts of a spec to a recurrent network."""

from collections.abc import Callable

from normcore.recurrent import Recurrent
from normcore.spec.model import RecurrentModel
from normcore.spec.norm import Method

MakeRecurrent = Callable[[int], Recurrent]
"""Makes a network for a number of inputs a step."""


def recurrent_of(model: RecurrentModel, norm: Method, kernel: str) -> MakeRecurrent:
    """The network that these parts of a spec describe, but for its input size."""
    own = {name: getattr(model, name) for name in type(model).model_fields if name not in RecurrentModel.model_fields}

    def recurrent(input_size: int) -> Recurrent:
        return Recurrent(
            model.cell,
            input_size,
            model.hidden_size,
            num_layers=model.num_layers,
            bidirectional=model.bidirectional,
            norm=norm,
            kernel=kernel,
            recurrent_init=model.recurrent_init,
            **own,
        )

    return recurrent
