"""Base class of methods: the places where a method can stand, and its text in the catalogue."""

from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, Field, PositiveFloat
from pydantic_core import PydanticCustomError

from normcore.spec.models.model import PLACES, Model, Place
from normcore.spec.part import Misfit, Part

SINGLE = (
    "in {} it would standardize single numbers, which gives 0 whatever they are; use larger layers, or larger groups"
)


class Method(Part):
    """A normalization: its options.

    Attributes:
        takes: the places where it can stand.
        beside_sites: options that may be chosen though no site is.
    """

    title: ClassVar[str]
    citation: ClassVar[str]
    takes: ClassVar[frozenset[Place]]
    beside_sites: ClassVar[frozenset[str]] = frozenset()

    method: str

    @classmethod
    def fits(cls, model: type[Model]) -> bool:
        """Tell if a model of this class has a place for the method."""
        return bool(cls.takes & model.places)

    @classmethod
    def defaults(cls, model: type[Model]) -> dict[str, Any]:
        """Options whose default depends on the model."""
        return {}

    def idle(self, model: Model) -> frozenset[str]:
        """Options that change nothing in such a model, given the other options."""
        if getattr(self, "sites", True):
            return frozenset()
        return frozenset(type(self).model_fields) - {"method", "sites"} - self.beside_sites

    def stands_at(self, place: Place) -> bool:
        """Tell if the method normalizes the values at this place."""
        return place in getattr(self, "sites", self.takes)

    @property
    def whole_sequences(self) -> bool:
        """Tell if statistics are taken over time, so that a minibatch must not come in pieces."""
        return False

    def within(self, places: frozenset[Place]) -> Self:
        """Restrict the method to the places of a part of a model."""
        sites: tuple[Place, ...] = getattr(self, "sites", ())
        if places.issuperset(sites):
            return self
        return self.model_copy(update={"sites": tuple(site for site in sites if site in places)})

    def needs_batch(self, model: Model) -> bool:
        """Tell if statistics are taken over the examples, so that training needs more than one."""
        return False

    @property
    def initializes_from_data(self) -> bool:
        """Tell if a first pass over training data decides the initial weights."""
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

    def erases(self, channels: int) -> bool:
        """Tell if the method makes all units of a layer 0 that has this many channels, each of one place."""
        return False

    def pointless(self, model: Model) -> Misfit | None:
        """An option that could be trained with but to no purpose, and what to do; None if there is none.

        Such a spec is refused when it is submitted, so that trainings that are the same have one fingerprint. One that
        is stored is still read.
        """
        if self.stands_at("layer") and not model.has_images and any(map(self.erases, model.channels)):
            return Misfit("method", SINGLE.format(model.label))
        usual = self.defaults(type(model))
        for option in sorted(self.idle(model)):
            default = usual.get(option, type(self).model_fields[option].default)
            if getattr(self, option) != default:
                return Misfit(option, f"with the other options it changes nothing in {model.label}; use {default}")
        return None


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
