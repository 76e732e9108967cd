"""Base class of models, and the places where a model can be normalized."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NamedTuple, Self, get_args

from normcore.spec.part import Misfit, Part

Place = Literal["input", "recurrent", "sum", "cell", "layer", "output", "attention"]
"""Place in a model that can be normalized. In recurrent cells: ``input`` is the input's term W_x x, ``recurrent`` is
the recurrent term W_h h, ``sum`` is the sum of both terms, ``cell`` is the cell that an LSTM reads out. ``layer`` is
the summed inputs of a hidden layer, ``output`` the summed inputs of the output layer, ``attention`` the comparison of
queries with keys."""


PLACES: tuple[Place, ...] = get_args(Place)


class Cost(NamedTuple):
    """Cost of a model without normalization.

    Attributes:
        parameters: number of trained parameters.
        products: multiply-accumulates of a forward pass over one example.
        kept: least count of numbers that a forward pass over one example keeps for the backward pass; 0 if the count is
            not known.
    """

    parameters: int
    products: int
    kept: int = 0

    def flop_of_update(self, batch_size: int) -> int:
        """Compute the floating-point operations of an update: two for each product of the forward pass, and twice as
        many for the gradients."""
        return 6 * self.products * batch_size


class Model(Part):
    """Sizes and options of a model.

    Attributes:
        architecture: name of the module in ``normcore/models/`` that implements the model.
        places: places of the model that can be normalized.
        usual: places that are normalized unless a spec says otherwise.
        has_images: whether the layers of the model have channels with more than one position.
        feeds_back: whether the output of a step decides the input of the next step, so that the input sequence is not
            known beforehand.
        adds_state_noise: whether a recurrent network in the model begins with ``Recurrent.initial_state``, which adds
            the method's ``initial_state_noise``.
    """

    architecture: ClassVar[str]
    places: ClassVar[frozenset[Place]]
    usual: ClassVar[tuple[Place, ...]]
    has_images: ClassVar[bool] = False
    feeds_back: ClassVar[bool] = False
    adds_state_noise: ClassVar[bool] = True

    @classmethod
    def kinds(cls) -> Mapping[str, type["Model"]]:
        """Return the classes of this family of models, by tag. A model that comes in one kind returns only itself."""
        return {cls.architecture: cls}

    @classmethod
    def kind_of(cls, written: Mapping[str, Any]) -> type["Model"] | None:
        """Return the class of this family that the options in ``written`` name; None if they name no known class."""
        return cls

    @classmethod
    def read(cls, value: Any) -> Self:
        """Make a model of this family from a mapping of options.

        Raises:
            pydantic.ValidationError, PydanticCustomError: the options are not valid.
        """
        return cls.model_validate(value)

    def pointless(self, norm: Any) -> Misfit | None:
        """Find an option that changes nothing with the method ``norm``, a ``Method``; None if there is no such option.
        See ``Method.pointless``."""
        return None

    @classmethod
    def cell_kind(cls) -> "type[Model] | None":
        """Return the class of the cell in the model's recurrent networks, a ``RecurrentModel``; None if the model has
        no recurrent network."""
        return None

    @property
    def recurrent(self) -> Any:
        """Largest recurrent network of the model, a ``RecurrentModel``; None if the model has no recurrent network."""
        return None

    @property
    def label(self) -> str:
        """Name of the model in messages."""
        return self.architecture

    @property
    def channels(self) -> tuple[int, ...]:
        """Number of features or channels of each hidden layer that can be normalized, recurrent cells left out."""
        return ()
