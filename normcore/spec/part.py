"""What every part of a spec shares: immutable, strict, closed to unknown fields."""

from pydantic import BaseModel, ConfigDict


class Part(BaseModel):
    """One block of a spec. Numbers must be finite, types are not coerced, unknown fields are errors."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False, validate_default=True)
