"""Distributions of a field's values in a sweep with random draws."""

import math
import random
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic_core import PydanticCustomError

MAX_CHOICES = 1_000  # as many as a sweep may have cells
Range = Annotated[list[float], Field(min_length=2, max_length=2)]
PositiveRange = Annotated[list[Annotated[float, Field(gt=0)]], Field(min_length=2, max_length=2)]
IntRange = Annotated[list[int], Field(min_length=2, max_length=2)]


class SweepPart(BaseModel):
    """Part of a sweep as a user writes it: strict, immutable, closed to unknown fields."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


class Distribution(SweepPart):
    """Distribution of a field's values; give one of its fields, as `{"log_uniform": [1e-4, 1e-2]}`."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1, "maxProperties": 1})

    log_uniform: PositiveRange | None = Field(None, description="Numbers whose logarithm is uniform: [least, most].")
    uniform: Range | None = Field(None, description="Uniform numbers: [least, most].")
    int_uniform: IntRange | None = Field(None, description="Whole numbers, all equally likely: [least, most].")
    choice: list[Any] | None = Field(
        None, min_length=1, max_length=MAX_CHOICES, description="One of these values, all equally likely."
    )

    @model_validator(mode="after")
    def is_one(self) -> Self:
        given = [name for name in type(self).model_fields if getattr(self, name) is not None]
        if len(given) != 1:
            raise PydanticCustomError("one_distribution", "give one of log_uniform, uniform, int_uniform and choice")
        bounds = self.log_uniform or self.uniform or self.int_uniform
        if bounds is not None and not bounds[0] < bounds[1]:
            raise PydanticCustomError("bounds", "give the least first, then a larger number")
        if self.uniform is not None and math.isinf(self.uniform[1] - self.uniform[0]):
            raise PydanticCustomError("bounds", "the range is wider than any number; give a narrower one")
        return self

    def draw(self, source: random.Random) -> Any:
        if self.log_uniform is not None:
            least, most = self.log_uniform
            return min(max(math.exp(source.uniform(math.log(least), math.log(most))), least), most)
        if self.uniform is not None:
            return source.uniform(*self.uniform)
        if self.int_uniform is not None:
            return source.randint(*self.int_uniform)
        assert self.choice is not None
        return source.choice(self.choice)
