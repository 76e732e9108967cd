"""Repairs of Triton's interpreter: of bfloat16, and of its speed.

The interpreter multiplies the bits of bfloat16 numbers as whole numbers, and rounds towards 0, or wrongly to the
nearest. Here it multiplies the numbers, and torch rounds to the nearest, as devices do.

It replaces the functions of ``triton.language`` again at each call of a device function, and computes each sum of
indices twice for an assertion that it then drops. That takes half of its time. Here it replaces the functions once a
launch for each module that calls them, and computes sums once.

Most of the rest of its time goes to the types of blocks and of their numbers, and to broadcasts of blocks that have the
same shape already. Here it makes each type once, and broadcasts only blocks of different shapes.
"""

import dataclasses
import math
from functools import cache
from importlib.util import find_spec
from typing import Any

import pytest
import torch

if find_spec("triton") is not None:
    import triton.language as tl
    from triton.language.semantic import TritonSemantic
    from triton.runtime import interpreter

    @pytest.fixture(autouse=True)
    def bfloat16_as_on_devices(monkeypatch: pytest.MonkeyPatch) -> None:
        multiply, convert = interpreter.InterpreterBuilder.create_dot, interpreter._convert_float

        def of_numbers(self: Any, a: Any, b: Any, *rest: Any) -> Any:
            return multiply(self, *(_number(self, factor) for factor in (a, b)), *rest)

        def to_the_nearest(values: Any, source: Any, target: Any, rounding: Any) -> Any:
            if (source, target) != (tl.float32, tl.bfloat16):
                return convert(values, source, target, rounding)
            return torch.from_numpy(values).bfloat16().view(torch.int16).numpy().view("uint16")

        monkeypatch.setattr(interpreter.InterpreterBuilder, "create_dot", of_numbers)
        monkeypatch.setattr(interpreter, "_convert_float", to_the_nearest)

    @pytest.fixture(autouse=True)
    def nothing_done_twice(monkeypatch: pytest.MonkeyPatch) -> None:
        replace, replaced = interpreter._patch_lang, set[int]()

        def once(function: Any) -> Any:
            module = id(function.__globals__)
            if module in replaced:
                return interpreter._LangPatchScope()
            replaced.add(module)
            scope = replace(function)
            restore = scope.restore

            def end() -> None:  # only a launch restores
                replaced.clear()
                restore()

            scope.restore = end
            return scope

        monkeypatch.setattr(interpreter, "_patch_lang", once)
        options = dataclasses.replace(interpreter.interpreter_builder.options, sanitize_overflow=False)
        monkeypatch.setattr(interpreter.interpreter_builder, "options", options)

    @pytest.fixture(autouse=True)
    def types_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
        made: dict[tuple[str, tuple[int, ...]], Any] = {}
        of_numbers: dict[str, Any] = {}
        broadcast, numpy_type = TritonSemantic.broadcast_impl_value, interpreter._get_np_dtype

        def block_of(element: Any, shape: tuple[int, ...]) -> Any:
            key = element.name, tuple(shape.values if isinstance(shape, tl.tuple) else shape)
            if key not in made:
                made[key] = tl.block_type(element, shape)
            return made[key]

        def in_numpy(type: Any) -> Any:
            name = type.scalar.name
            if name not in of_numbers:
                of_numbers[name] = numpy_type(type)
            return of_numbers[name]

        @cache
        def sizes(shape: tuple[int, ...]) -> tuple[Any, Any]:
            return tuple(map(tl.constexpr, shape)), tl.constexpr(math.prod(shape))

        def begin(self: Any, handle: Any, type: Any) -> None:
            self.handle, self.type, self.dtype = handle, type, type.scalar
            self.shape, self.numel = sizes(tuple(type.shape.values) if type.is_block() else ())

        def of_different_shapes(self: Any, a: Any, b: Any) -> Any:
            if a.type.is_block() and b.type.is_block() and a.type.shape.values == b.type.shape.values:
                return a, b
            return broadcast(self, a, b)

        monkeypatch.setattr(interpreter, "_get_np_dtype", in_numpy)
        monkeypatch.setattr(tl.block_type, "with_element_ty", lambda self, element: block_of(element, self.shape))
        monkeypatch.setattr(interpreter.InterpreterBuilder, "get_block_ty", lambda _, *of: block_of(*of))
        monkeypatch.setattr(tl.tensor, "__init__", begin)
        monkeypatch.setattr(TritonSemantic, "broadcast_impl_value", of_different_shapes)


def _number(builder: Any, factor: Any) -> Any:
    if factor.dtype.scalar != tl.bfloat16:
        return factor
    return builder.cast_impl(factor, tl.block_type(tl.float32, list(factor.data.shape)))
