"""What pydantic says of a value is said again with a repair."""

from typing import Any

import pytest
from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError

from normcore.spec.messages import message


class Moment(BaseModel):
    model_config = ConfigDict(extra="forbid")

    at: AwareDatetime


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ({"at": "2026-11-25T12:00:00"}, "say in which time zone it is, as 2026-11-25T12:00:00Z"),
        ({"at": "noon"}, "expected a moment with its time zone, as 2026-11-25T12:00:00Z"),
        ({"at": "2026-11-25T12:00:00Z", "zone": "UTC"}, "unknown field; remove it"),
        ({}, "it is required; add it"),
    ],
)
def test_what_is_wrong_is_said_with_a_repair(written: Any, said: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        Moment.model_validate(written)
    assert [message(error) for error in refusal.value.errors()] == [said]
