"""Classes of other packages are found, those that cannot be used do no harm, and what a part may be is said."""

from importlib.metadata import EntryPoint
from typing import Any, ClassVar, Literal

import pytest
from pydantic_core import PydanticCustomError

from normcore.spec.cells import CELLS
from normcore.spec.methods import METHODS
from normcore.spec.methods.method import Method
from normcore.spec.models.model import Place
from normcore.spec.registry import UnusablePlugIn


class Good(Method):
    title: ClassVar[str] = "Good"
    citation: ClassVar[str] = "nobody"
    home: ClassVar[str] = "somewhere.else"
    takes: ClassVar[frozenset[Place]] = frozenset({"layer"})
    method: Literal["good"] = "good"


class Homeless(Good):
    home: ClassVar[str] = ""


class Taken(Good):
    method: Literal["layer_norm"] = "layer_norm"  # type: ignore[assignment]


def entry(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, f"{__name__}:{value}", "normbench.methods")


def test_a_method_of_another_package_is_found_by_its_tag() -> None:
    assert METHODS.plugged_in([entry("good", "Good")]) == {"good": Good}


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("good", "Missing", "has no attribute 'Missing'"),
        ("good", "entry", "expected a subclass of normcore.spec.methods.method.Method"),
        ("better", "Good", r'expected its field method: Literal\["better"\]'),
        ("good", "Homeless", "expected home"),
        ("layer_norm", "Taken", "there is one of that name already"),
    ],
)
def test_one_that_cannot_be_used_is_left_out_and_says_why(name: str, value: str, message: str) -> None:
    with pytest.warns(UnusablePlugIn, match=message):
        assert METHODS.plugged_in([entry(name, value), entry("good", "Good")]).keys() <= {"good"}


def test_of_two_packages_that_offer_one_name_the_first_is_taken() -> None:
    with pytest.warns(UnusablePlugIn, match="there is one of that name already"):
        assert METHODS.plugged_in([entry("good", "Good"), entry("good", "Good")]) == {"good": Good}


@pytest.mark.parametrize(
    ("registry", "value", "message"),
    [
        (CELLS, {"cell": "transformer"}, "unknown 'transformer'; choose from gru, lstm, rnn"),
        (CELLS, {"cell": "lstn"}, "did you mean 'lstm'?"),
        (CELLS, {}, "it is required; choose from gru, lstm, rnn"),
        (CELLS, {"cell": ["gru"]}, 'unknown ["gru"]; choose from'),
        (CELLS, "gru", 'expected an object, as {"cell": "gru"}'),
        (CELLS, None, 'expected an object, as {"cell": '),
        (METHODS, {"method": "layernorm"}, "did you mean 'layer_norm'? choose from "),
        (METHODS, "layer_norm", 'expected an object, as {"method": "layer_norm"}'),
    ],
)
def test_what_is_none_of_them_is_refused_with_those_there_are(registry: Any, value: Any, message: str) -> None:
    with pytest.raises(PydanticCustomError) as refused:
        registry.validate(value)
    assert message in str(refused.value)
