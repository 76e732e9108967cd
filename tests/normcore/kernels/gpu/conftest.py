"""Triton's interpreter multiplies the bits of bfloat16, which it has as whole numbers; here, the numbers."""

from typing import Any

import pytest

try:
    import triton.language as tl
    from triton.runtime.interpreter import InterpreterBuilder
except ImportError:
    pass
else:

    @pytest.fixture(autouse=True)
    def factors_are_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
        multiply = InterpreterBuilder.create_dot

        def of_numbers(self: InterpreterBuilder, a: Any, b: Any, *rest: Any) -> Any:
            return multiply(self, *(_number(self, factor) for factor in (a, b)), *rest)

        monkeypatch.setattr(InterpreterBuilder, "create_dot", of_numbers)


def _number(interpreter: Any, factor: Any) -> Any:
    if factor.dtype.scalar != tl.bfloat16:
        return factor
    return interpreter.cast_impl(factor, tl.block_type(tl.float32, list(factor.data.shape)))
