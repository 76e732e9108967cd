"""From the parts of a spec to a recurrent network."""

from collections.abc import Callable

from normcore.recurrent import Recurrent
from normcore.spec import ExperimentSpec
from normcore.spec.model import RecurrentModel

MakeRecurrent = Callable[[int], Recurrent]
"""Makes the spec's network for a number of inputs a step."""


def recurrent_of(spec: ExperimentSpec) -> MakeRecurrent:
    """The network that ``spec.model`` and ``spec.norm`` describe, but for its input size."""
    model = spec.model
    own = {name: getattr(model, name) for name in type(model).model_fields if name not in RecurrentModel.model_fields}

    def recurrent(input_size: int) -> Recurrent:
        return Recurrent(
            model.cell,
            input_size,
            model.hidden_size,
            num_layers=model.num_layers,
            bidirectional=model.bidirectional,
            norm=spec.norm,
            kernel=spec.training.kernel,
            recurrent_init=model.recurrent_init,
            **own,
        )

    return recurrent
