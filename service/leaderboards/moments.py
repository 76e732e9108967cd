"""Query parameter for a moment in the past, at which a board is shown."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime
from pydantic_core import PydanticCustomError

from service.db import utc_now


def _passed(moment: datetime) -> datetime:
    """Convert a moment to UTC, as databases have it.

    Raises:
        PydanticCustomError: the moment is in the future, or its year in UTC is not between 1 and 9999.
    """
    try:
        known = moment.astimezone(UTC)
    except OverflowError:
        raise PydanticCustomError("out_of_range", "expected a moment of the years 1 to 9999 in UTC") from None
    if known > utc_now():
        raise PydanticCustomError("in_the_future", "expected a moment that has passed")
    return known


Moment = Annotated[AwareDatetime, AfterValidator(_passed)]
