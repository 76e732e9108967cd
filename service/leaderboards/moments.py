"""Moments whose board one asks for."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime
from pydantic_core import PydanticCustomError

from service.db import utc_now


def _passed(moment: datetime) -> datetime:
    """Convert a moment to UTC, as databases have it.

    Raises:
        PydanticCustomError: it is to come, or no year between 1 and 9999 has it there.
    """
    try:
        known = moment.astimezone(UTC)
    except OverflowError:
        raise PydanticCustomError("out_of_range", "expected a moment of the years 1 to 9999 in UTC") from None
    if known > utc_now():
        raise PydanticCustomError("in_the_future", "expected a moment that has passed")
    return known


Moment = Annotated[AwareDatetime, AfterValidator(_passed)]
