"""Cases worked out by hand: inputs and expected results, by function."""

import json
from pathlib import Path
from typing import Any

import pytest

CASES = json.loads((Path(__file__).parent / "cases.json").read_text(encoding="utf-8"))


def named(function: str) -> pytest.MarkDecorator:
    """Run the test once for each case of a function."""
    return pytest.mark.parametrize("case", CASES[function], ids=[case["name"] for case in CASES[function]])


def is_as_expected(found: Any, expected: Any) -> bool:
    """Tell if a result, in named tuples, has the expected values; its other values do not matter."""
    if isinstance(expected, dict):
        plain = found._asdict() if hasattr(found, "_asdict") else found
        return all(is_as_expected(plain[name], value) for name, value in expected.items())
    if isinstance(expected, list):
        return len(found) == len(expected) and all(map(is_as_expected, found, expected))
    if isinstance(expected, float) and found is not None:
        return bool(found == pytest.approx(expected, rel=1e-6, abs=1e-9))
    return bool(found == expected)
