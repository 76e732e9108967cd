"""An error is told as that of the package whose code raised it, and one of ours stays ours."""

from collections.abc import Callable
from functools import partial
from types import ModuleType

import pytest

from normcore.spec.plug_in_faults import Brought, _at_fault, blamed

TASK = Brought(("task",), "hungry", "others 2.0", "others.tasks")
NORM = Brought(("norm",), "moody", "somebody 1.2", "somebody.norms")
SIBLING = TASK._replace(module="somebody.tasks")


def none_left() -> None:
    raise ZeroDivisionError("none left")


def function_of(module: str, calls: Callable[[], None]) -> Callable[[], None]:
    """A function of this module, which calls another."""
    there = ModuleType(module)
    exec("def call(function):\n    function()", there.__dict__)
    return partial(there.call, calls)


def error_of(*modules: str) -> Exception:
    """Error of a function that these modules called, the first by way of the others."""
    function: Callable[[], None] = none_left
    for module in reversed(modules):
        function = function_of(module, function)
    with pytest.raises(ZeroDivisionError) as caught:
        function()
    return caught.value


@pytest.mark.parametrize(
    ("module", "parts", "at_fault"),
    [
        ("somebody.norms", [TASK, NORM], NORM),
        ("somebody.helpers", [TASK, NORM], NORM),
        ("others.tasks", [TASK, NORM], TASK),
        ("somebody.norms", [SIBLING, NORM], NORM),
        ("somebody.tasks", [NORM, SIBLING], SIBLING),
        ("normcore.somewhere", [NORM], NORM),
        ("normcore.somewhere", [TASK, NORM], None),
        ("normcore.somewhere", [], None),
    ],
)
def test_the_part_is_named_whose_code_raised_it(module: str, parts: list[Brought], at_fault: Brought | None) -> None:
    assert _at_fault(error_of(module), parts) == at_fault


@pytest.mark.parametrize(
    ("modules", "at_fault"),
    [
        (["others.tasks", "somebody.norms"], NORM),
        (["somebody.norms", "others.tasks"], TASK),
        (["others.helpers", "normcore.somewhere", "somebody.helpers"], NORM),
    ],
)
def test_of_two_packages_on_the_way_the_last_one_called_is_named(modules: list[str], at_fault: Brought) -> None:
    assert _at_fault(error_of(*modules), [TASK, NORM]) == at_fault


def test_where_no_package_has_a_part_an_error_stays_what_it_is() -> None:
    with pytest.raises(ZeroDivisionError), blamed({"task": {"name": "permuted_digits"}}):
        raise error_of("somebody.norms")
