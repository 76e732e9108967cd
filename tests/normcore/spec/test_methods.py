"""Methods of other packages are found, and those that cannot be used do no harm."""

from importlib.metadata import EntryPoint
from typing import ClassVar, Literal

import pytest

from normcore.spec.methods import METHODS, installed
from normcore.spec.methods.method import Method
from normcore.spec.registry import UnusablePlugIn


class Good(Method):
    title: ClassVar[str] = "Good"
    citation: ClassVar[str] = "nobody"
    home: ClassVar[str] = "somewhere.else"
    method: Literal["good"] = "good"


class Homeless(Good):
    home: ClassVar[str] = ""


class Taken(Good):
    method: Literal["layer_norm"] = "layer_norm"  # type: ignore[assignment]


def entry(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, f"{__name__}:{value}", "normbench.methods")


def test_a_method_of_another_package_is_found_by_its_tag() -> None:
    assert installed([entry("good", "Good")], METHODS) == {"good": Good}


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("good", "Missing", "has no attribute 'Missing'"),
        ("good", "entry", "expected a subclass of normcore.spec.norm.Method"),
        ("better", "Good", r'expected its field method: Literal\["better"\]'),
        ("good", "Homeless", "expected home"),
        ("layer_norm", "Taken", "a method of that name already"),
    ],
)
def test_one_that_cannot_be_used_is_left_out_and_says_why(name: str, value: str, message: str) -> None:
    with pytest.warns(UnusablePlugIn, match=message):
        assert installed([entry(name, value), entry("good", "Good")], METHODS).keys() <= {"good"}
