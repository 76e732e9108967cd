"""Base classes of methods: the places where a method can stand, and the method's text in the catalogue."""

from typing import Annotated, Any, ClassVar, Self

from pydantic import AfterValidator, Field, PositiveFloat
from pydantic_core import PydanticCustomError

from normcore.spec.models.model import PLACES, Model, Place
from normcore.spec.part import Misfit, Part, each_once
from normcore.spec.work import Work

SINGLE = (
    "in {} it would standardize single numbers, and the result would always be 0; use larger layers, or larger groups"
)


class Method(Part):
    """Options of a method, that is, of a normalization.

    Attributes:
        works: the works to cite. If empty, they are found by ``citation`` (``normcore/bibliography/``).
        takes: the places where the method can stand.
        beside_sites: options that may be chosen even if no site is chosen.
    """

    title: ClassVar[str]
    citation: ClassVar[str]
    works: ClassVar[tuple[Work, ...]] = ()
    takes: ClassVar[frozenset[Place]]
    beside_sites: ClassVar[frozenset[str]] = frozenset()

    method: str

    @classmethod
    def fits(cls, model: type[Model]) -> bool:
        """Tell if a model of this class has a place for the method."""
        return bool(cls.takes & model.places)

    @classmethod
    def defaults(cls, model: type[Model]) -> dict[str, Any]:
        """Return the default values that depend on the model, by option."""
        return {}

    def idle(self, model: Model) -> frozenset[str]:
        """Find the options that change nothing in this model, given the other options."""
        if getattr(self, "sites", True):
            return frozenset()
        return frozenset(type(self).model_fields) - {"method", "sites"} - self.beside_sites

    def stands_at(self, place: Place) -> bool:
        """Tell if the method normalizes the values at this place."""
        return place in getattr(self, "sites", self.takes)

    @property
    def whole_sequences(self) -> bool:
        """Tell if statistics are taken over time, so that the sequences of a minibatch must not be cut into pieces."""
        return False

    def within(self, places: frozenset[Place]) -> Self:
        """Copy the method with only those of its sites that are in ``places``, the places of a part of a model."""
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
        """Find an option that does not fit a model, and what to write instead; None if all options fit."""
        if self.fits(type(model)):
            return None
        return Misfit(
            "method",
            f"{self.method} has no place in {model.label}: it normalizes {_list_places(self.takes)}, and {model.label}"
            f" has {_list_places(model.places)}; choose another method, such as layer_norm",
        )

    def erases(self, channels: int) -> bool:
        """Tell if the method's output is always 0 in a layer with this many channels, each of a single number."""
        return False

    def pointless(self, model: Model) -> Misfit | None:
        """Find an option that is valid but pointless, and what to write instead; None if there is no such option.

        A submitted spec with such an option is refused, so that equal trainings have one fingerprint. A stored spec
        with such an option can still be read.
        """
        if self.stands_at("layer") and not model.has_images and any(map(self.erases, model.channels)):
            return Misfit("method", SINGLE.format(model.label))
        usual = self.defaults(type(model))
        for option in sorted(self.idle(model)):
            default = usual.get(option, type(self).model_fields[option].default)
            if getattr(self, option) != default:
                return Misfit(option, f"with the other options it changes nothing in {model.label}; use {default}")
        return None


def _list_places(places: frozenset[Place]) -> str:
    return ", ".join(sorted(places))


def _whole(sites: tuple[Place, ...]) -> tuple[Place, ...]:
    if "sum" in sites and {"input", "recurrent"} & set(sites):
        raise PydanticCustomError("contradiction", "sum is input and recurrent together; use sum alone, or the others")
    return sites


Sites = Annotated[tuple[Place, ...], AfterValidator(_whole), each_once("site", PLACES.index)]


class SiteMethod(Method):
    """Options of a normalization of summed inputs, at sites that the user can choose."""

    takes: ClassVar[frozenset[Place]] = frozenset({"input", "recurrent", "sum", "cell", "layer", "output"})

    sites: Sites = Field(
        ("input", "recurrent", "cell"),
        strict=False,
        max_length=len(PLACES),
        description="What is normalized. In a recurrent network: the input's term W_x x, the recurrent term W_h h,"
        " their sum, the cell that an LSTM reads out; the RNN's default is the sum, and the GRU has no other sites than"
        " its terms. In other networks: the hidden layers, the output layer.",
    )

    @classmethod
    def defaults(cls, model: type[Model]) -> dict[str, Any]:
        return {"sites": tuple(place for place in model.usual if place in cls.takes)}

    def misfit(self, model: Model) -> Misfit | None:
        return super().misfit(model) or find_misplaced_site(self.sites, self.takes, model)


def find_misplaced_site(sites: tuple[Place, ...], takes: frozenset[Place], model: Model) -> Misfit | None:
    """Make a misfit for a site that the model does not have; None if the model has all sites."""
    for site in sites:
        if site not in model.places & takes:
            return Misfit(
                "sites", f"{model.label} has no site '{site}'; use some of {_list_places(model.places & takes)}"
            )
    return None


class LayerMethod(Method):
    """Options of a normalization of feed-forward and convolutional layers. Recurrent cells cannot use it."""

    takes: ClassVar[frozenset[Place]] = frozenset({"layer", "output"})

    sites: Sites = Field(
        ("layer",), strict=False, max_length=len(PLACES), description="The hidden layers, the output layer, or both."
    )
    gain_init: float = Field(1.0, description="Initial gain of every feature or channel.")
    eps: PositiveFloat = Field(1e-5, description="Added to the variance, inside the root.")

    def misfit(self, model: Model) -> Misfit | None:
        return super().misfit(model) or find_misplaced_site(self.sites, self.takes, model)
