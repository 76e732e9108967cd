"""Base class of models, and the places where a model can be normalized."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, NamedTuple, Self, get_args

from normcore.spec.part import Misfit, Part

Place = Literal["input", "recurrent", "sum", "cell", "layer", "output", "attention"]
"""Where a model has something to normalize: a recurrent cell's input term W_x x, its recurrent term W_h h, the sum of
both, the cell that an LSTM reads out; the summed inputs of a hidden layer; those of the output layer; the comparison of
queries with keys."""


PLACES: tuple[Place, ...] = get_args(Place)


class Cost(NamedTuple):
    """Cost of a model without normalization.

    Attributes:
        parameters: trained numbers.
        products: multiply-accumulates of a forward pass over one example.
        kept: numbers that a forward pass over one example keeps for the backward pass, at least; 0 if that is not
            known.
    """

    parameters: int
    products: int
    kept: int = 0

    def flop_of_update(self, batch_size: int) -> int:
        """Floating-point operations of an update: two a product, and twice as many again for the gradients."""
        return 6 * self.products * batch_size


class Model(Part):
    """An architecture: its sizes and options.

    Attributes:
        architecture: names its module in ``normcore/models/``.
        places: where it can be normalized.
        usual: those of them that are normalized unless a spec says otherwise.
        has_images: whether its layers have channels of more than one place.
        feeds_back: whether what it makes of a step decides the next step's input, so that no sequence is known
            beforehand.
    """

    architecture: ClassVar[str]
    places: ClassVar[frozenset[Place]]
    usual: ClassVar[tuple[Place, ...]]
    has_images: ClassVar[bool] = False
    feeds_back: ClassVar[bool] = False

    @classmethod
    def kinds(cls) -> Mapping[str, type["Model"]]:
        """The classes of this family by tag; of a model that comes in one kind, itself."""
        return {cls.architecture: cls}

    @classmethod
    def kind_of(cls, written: Mapping[str, Any]) -> type["Model"] | None:
        """The class of this family that options ask for; None if they name none that is known."""
        return cls

    @classmethod
    def read(cls, value: Any) -> Self:
        """The model of this family that a mapping describes.

        Raises:
            pydantic.ValidationError, PydanticCustomError: it describes none.
        """
        return cls.model_validate(value)

    def pointless(self, norm: Any) -> Misfit | None:
        """An option that changes nothing with such a method, a ``Method``; see ``Method.pointless``."""
        return None

    @classmethod
    def cell_kind(cls) -> "type[Model] | None":
        """The cell of its recurrent networks, a ``RecurrentModel``; None if it has none."""
        return None

    @property
    def recurrent(self) -> Any:
        """The largest of its recurrent networks, a ``RecurrentModel``; None if it has none."""
        return None

    @property
    def label(self) -> str:
        """Name of the model in messages."""
        return self.architecture

    @property
    def channels(self) -> tuple[int, ...]:
        """Features or channels of each hidden layer that can be normalized, without those of recurrent cells."""
        return ()
