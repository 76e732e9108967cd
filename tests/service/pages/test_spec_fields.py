"""Values of fields and the texts in their controls."""

from typing import Any

import pytest

from service.pages.spec_fields import Field, cast, texts_of


@pytest.mark.parametrize(
    ("kind", "text", "value"),
    [
        ("whole", "007", 7),
        ("whole", "9" * 5000, "9" * 5000),
        ("number", "nan", "nan"),
        ("number", "1e999", "1e999"),
        ("switch", "maybe", "maybe"),
        ("pairs", "no colon", "no colon"),
        ("pairs", "a: 1\na: 2", "a: 1\na: 2"),
        ("any", "[1, a]", [1, "a"]),
        ("any", "[1, a", "[1, a"),
    ],
)
def test_text_that_is_not_a_value_of_its_kind_stays_as_it_was_typed(kind: Any, text: str, value: Any) -> None:
    assert cast(Field("norm.x", kind, default=0), [text]) == value


def test_values_of_any_kind_can_be_shown() -> None:
    assert texts_of("number", 0.0123456789) == ["0.0123456789"]
    assert texts_of("list", [1000, 500]) == ["1000, 500"]
    assert texts_of("several", ["a", "b"]) == ["a", "b"]
    assert texts_of("pairs", {"a": "1"}) == ["a: 1"]
    assert texts_of("whole", {"odd": [1]}) == ['{"odd": [1]}']
    assert texts_of("text", None) == []
