"""An error names the packages that brought parts of the spec. An error of our own names no package."""

from typing import Any

import pytest

from normcore.spec.errors import InvalidSpec
from normcore.spec.plug_ins import blame
from normcore.spec.plug_ins.blame import Brought, blame_plug_ins, list_plug_in_parts

SPEC: dict[str, Any] = {"task": {"name": "permuted_digits"}, "norm": {"method": "layer_norm"}}
NORM = Brought(("norm",), "moody", "somebody 1.2")
CELL = Brought(("model",), "mgu", "others 2.0")


def test_the_package_of_the_only_part_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blame, "list_plug_in_parts", lambda written: iter([NORM]))
    with pytest.raises(InvalidSpec) as caught, blame_plug_ins(SPEC):
        raise ZeroDivisionError("none left")
    [error] = caught.value.errors
    assert error.loc == ("norm",)
    assert error.msg == (
        "moody, of somebody 1.2, failed with these options: ZeroDivisionError: none left; choose others, or report it"
        " to the package"
    )


def test_both_packages_are_named_where_each_may_have_failed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(blame, "list_plug_in_parts", lambda written: iter([NORM, CELL]))
    with pytest.raises(InvalidSpec) as caught, blame_plug_ins(SPEC):
        raise ZeroDivisionError("none left")
    assert caught.value.errors[0].msg.startswith("moody, of somebody 1.2, or mgu, of others 2.0, failed with")


def test_error_in_a_spec_without_plug_ins_stays_unchanged() -> None:
    with pytest.raises(ZeroDivisionError), blame_plug_ins(SPEC):
        raise ZeroDivisionError("none left")
    assert list(list_plug_in_parts(SPEC)) == []
