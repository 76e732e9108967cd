"""What every method declares: where it can stand, and what the catalogue says of it."""

from typing import Annotated, Any, ClassVar

from pydantic import AfterValidator, Field, PositiveFloat
from pydantic_core import PydanticCustomError

from normcore.spec.models.model import PLACES, Model, Place
from normcore.spec.part import Misfit, Part


class Method(Part):
    """A normalization: its options.

    Attributes:
        takes: the places where it can stand.
        whole_sequences: whether statistics are taken over time, so that a minibatch must not come in pieces.
    """

    title: ClassVar[str]
    citation: ClassVar[str]
    takes: ClassVar[frozenset[Place]]
    whole_sequences: ClassVar[bool] = False

    method: str

    @classmethod
    def fits(cls, model: type[Model]) -> bool:
        """Whether a model of this class has a place for it."""
        return bool(cls.takes & model.places)

    @classmethod
    def defaults(cls, model: type[Model]) -> dict[str, Any]:
        """Options whose default depends on the model."""
        return {}

    def stands_at(self, place: Place) -> bool:
        """Whether it normalizes what is at this place."""
        return place in getattr(self, "sites", self.takes)

    @property
    def needs_batch(self) -> bool:
        """Whether statistics are taken over the examples, so that one alone cannot be trained on."""
        return False

    @property
    def initializes_from_data(self) -> bool:
        """Whether a first pass over training data decides the initial weights."""
        return False

    def misfit(self, model: Model) -> Misfit | None:
        """The option that does not go with a model, and what to do; None if all do."""
        if self.fits(type(model)):
            return None
        return Misfit(
            "method",
            f"{self.method} has no place in {model.label}: it normalizes {_listed(self.takes)}, and {model.label} has"
            f" {_listed(model.places)}; choose another method, such as layer_norm",
        )


def _listed(places: frozenset[Place]) -> str:
    return ", ".join(sorted(places))


def _whole(sites: tuple[Place, ...]) -> tuple[Place, ...]:
    if "sum" in sites and {"input", "recurrent"} & set(sites):
        raise PydanticCustomError("contradiction", "sum is both terms together; name it or them")
    if len(set(sites)) < len(sites):
        raise PydanticCustomError("duplicate", "give every site once")
    return tuple(sorted(sites, key=PLACES.index))  # their order means nothing, and must not change a fingerprint


Sites = Annotated[tuple[Place, ...], AfterValidator(_whole)]


class SiteMethod(Method):
    """A normalization of summed inputs, at sites that one can choose."""

    takes: ClassVar[frozenset[Place]] = frozenset({"input", "recurrent", "sum", "cell", "layer", "output"})

    sites: Sites = Field(
        ("input", "recurrent", "cell"),
        strict=False,
        description="What is normalized. In a recurrent network: the input's term W_x x, the recurrent term W_h h,"
        " their sum, the cell that an LSTM reads out; the RNN's default is the sum, and the GRU has no other sites than"
        " its terms. In other networks: the hidden layers, the output layer.",
    )

    @classmethod
    def defaults(cls, model: type[Model]) -> dict[str, Any]:
        return {"sites": tuple(place for place in model.usual if place in cls.takes)}

    def misfit(self, model: Model) -> Misfit | None:
        return super().misfit(model) or misplaced(self.sites, self.takes, model)


def misplaced(sites: tuple[Place, ...], takes: frozenset[Place], model: Model) -> Misfit | None:
    """A misfit if one of the sites is none of the model's."""
    for site in sites:
        if site not in model.places & takes:
            return Misfit("sites", f"{model.label} has no site '{site}'; use some of {_listed(model.places & takes)}")
    return None


class LayerMethod(Method):
    """A normalization of feed-forward and convolutional layers, which no recurrent cell takes."""

    takes: ClassVar[frozenset[Place]] = frozenset({"layer", "output"})

    sites: Sites = Field(("layer",), strict=False, description="The hidden layers, the output layer, or both.")
    gain_init: float = Field(1.0, description="Initial gain of every feature or channel.")
    eps: PositiveFloat = Field(1e-5, description="Added to the variance, inside the root.")

    def misfit(self, model: Model) -> Misfit | None:
        return super().misfit(model) or misplaced(self.sites, self.takes, model)
