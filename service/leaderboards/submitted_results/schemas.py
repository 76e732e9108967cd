"""Types of a submitted result, as it is written and as it is shown."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, Field, HttpUrl, StringConstraints, TypeAdapter, ValidationError
from pydantic_core import PydanticCustomError

from normcore.spec.experiment import MAX_SEED, MAX_SEEDS
from normcore.spec.messages import Form
from normcore.spec.part import Part
from service.experiments.schemas import OfSpec
from service.leaderboards.entry import Estimate
from service.statistics.values import Interval
from service.urls import without_password

State = Literal["claimed", "confirmed", "disputed", "withdrawn"]
_ADDRESS: TypeAdapter[HttpUrl] = TypeAdapter(HttpUrl)
AN_ADDRESS = "give an http or https address, as https://example.org/log"


def _printable(text: str) -> str:
    if not all(line.isprintable() for line in text.split("\n")):
        raise PydanticCustomError("printable", "use printable characters only")
    return text


def _address(text: str) -> str:
    """Check that a text is an address that a browser opens, and return the text unchanged."""
    try:
        _ADDRESS.validate_python(text)
    except ValidationError:
        raise PydanticCustomError("form", AN_ADDRESS) from None
    return _printable(text)


Text = Annotated[str, StringConstraints(min_length=1, max_length=2000), AfterValidator(_printable)]
Address = Annotated[str, Form(r"^https?://\S{1,2000}$", AN_ADDRESS), AfterValidator(_address)]


class SeedValue(Part):
    """Test value of a seed."""

    seed: int = Field(ge=0, le=MAX_SEED)
    value: float = Field(description="The test value of the task's first metric.")


class Provenance(Part):
    """Origin of a submitted result: where to read about it, and its code and hardware."""

    source: Address = Field(description="Address of a page about the result.")
    code: Text | None = Field(None, description="The code that was run, such as a commit.")
    hardware: Text | None = Field(None, description="The hardware that the result was measured on.")
    note: Text | None = Field(None, description="Remark for readers of the result.")

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Self:
        """Read a stored provenance. Passwords in it, which earlier versions accepted, are left out."""
        return cls(**{name: text and without_password(text) for name, text in stored.items()})


class Evidence(Part):
    """Evidence of a submitted result, beside its spec."""

    values: list[SeedValue] = Field(min_length=1, max_length=MAX_SEEDS)
    provenance: Provenance


class DifferenceOut(BaseModel):
    """Mean of the claim minus mean of the fresh seeds, by Welch's t, or by Student's t for a claim of one seed. As in
    scores, no seed counts as worse than a model that ignores its input."""

    mean: float
    ci95: Interval | None = Field(description="Null if the values have no spread.")
    p_value: float


class ResultOut(OfSpec):
    """A result that was measured elsewhere."""

    id: str
    fingerprint: str
    state: State = Field(
        description="`claimed` until runs of this service with three or more other seeds agree (`confirmed`) or not"
        " (`disputed`)."
    )
    problem: str = Field(description="Id of the problem that the result's board ranks, see `/v1/leaderboards`.")
    budget: int = Field(description="Number of examples that each training may have seen at most.")
    metric: str
    values: list[SeedValue]
    value: Estimate
    fresh_seeds: list[int] = Field(description="Seeds of this spec that were measured here and are not among `values`.")
    difference: DifferenceOut | None = Field(
        description="Null for fewer than three fresh seeds, and for one claimed seed if the fresh seeds have no spread."
    )
    provenance: Provenance
    created_at: datetime
    withdrawn_at: datetime | None
