"""The compiled kernels give what the reference gives: in float64 to 11 digits, in float32 as closely as eager torch."""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from normcore import recurrent
from normcore.kernels import cpu
from tests.normcore.kernels.compared import (
    CASES,
    EXACT,
    cell_of,
    differences,
    drawn,
    everything,
    of_both,
    some_mask,
)
from tests.normcore.kernels.twin import Twin, case, default


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


class TestCompiled(Twin):
    unroll = staticmethod(cpu.unroll)
    steps, batch, hidden = 5, 7, 21


@case
def test_two_threads_give_what_the_reference_gives(cell: str, method: str, options: dict[str, Any]) -> None:
    torch.set_num_threads(2)
    built = cell_of(cell, method, options, inputs=3, hidden=70)
    x, start = drawn(built, steps=5, batch=7)
    found = of_both(cpu.unroll, built, x, start, some_mask(5, 7))
    assert max(found.values()) < EXACT, found


@case
def test_what_is_kept_of_the_inputs_term_changes_nothing(cell: str, method: str, options: dict[str, Any]) -> None:
    built = cell_of(cell, method, options, inputs=70, hidden=40)
    x, start = drawn(built, steps=9, batch=4)
    found = of_both(cpu.unroll, built, x, start)
    assert max(found.values()) < EXACT, found


@settings(max_examples=60, deadline=None)
@given(
    case=st.sampled_from(CASES),
    steps=st.integers(1, 12),
    batch=st.integers(2, 40),
    inputs=st.integers(1, 20),
    hidden=st.integers(2, 70),
    masked=st.booleans(),
    threads=st.integers(1, 3),
)
def test_of_any_shape(
    case: tuple[str, str, dict[str, Any]],
    steps: int,
    batch: int,
    inputs: int,
    hidden: int,
    masked: bool,
    threads: int,
) -> None:
    torch.set_num_threads(threads)
    built = cell_of(*case, inputs=inputs, hidden=hidden)
    x, start = drawn(built, steps, batch)
    found = of_both(cpu.unroll, built, x, start, some_mask(steps, batch) if masked else None)
    assert max(found.values()) < 1e-9, found  # of some of a few numbers, little is left


@default
def test_float32_over_many_steps_is_as_close_to_float64_as_eager_torch(cell: str, method: str) -> None:
    for steps, allowed in ((16, 1e-5), (100, 0.0)):
        built = cell_of(cell, method, {}, inputs=8, hidden=50)
        x, start = drawn(built, steps, batch=20)
        exact = everything(recurrent.unroll, built, x, start)
        built, x, start = built.float(), x.float(), type(start)(*[part.float() for part in start])
        fused, eager = (
            differences(everything(unroll, built, x, start), exact) for unroll in (cpu.unroll, recurrent.unroll)
        )
        for name, off in fused.items():
            assert off < max(allowed, 5 * max(eager[name], 1e-6)), (steps, name, off, eager[name])


@default
def test_the_same_call_gives_the_same_bits_in_one_thread_and_in_two(cell: str, method: str) -> None:
    built = cell_of(cell, method, {}, inputs=3, hidden=50).float()
    x, start = drawn(built, steps=20, batch=33)
    for threads in (1, 2):
        torch.set_num_threads(threads)
        first, second = (everything(cpu.unroll, built, x, start) for _ in range(2))
        for name, tensor in first.items():
            assert torch.equal(tensor, second[name]), name


@default
def test_what_differs_with_the_number_of_threads(cell: str, method: str) -> None:
    """Sums over the examples, for the gradients of biases and gains, where threads share the examples."""
    built = cell_of(cell, method, {}, inputs=3, hidden=50).float()
    x, start = drawn(built, steps=20, batch=33)
    of_threads = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        of_threads.append(everything(cpu.unroll, built, x, start))
    differ = {name for name, tensor in of_threads[0].items() if not torch.equal(tensor, of_threads[1][name])}
    assert all(of_threads[0][name].dim() == 1 for name in differ), differ
    if method == "recurrent_batch_norm":
        assert differ == set()
    assert max(differences(*of_threads).values()) < 1e-5


@default
def test_a_sequence_in_two_parts_has_the_same_bits(cell: str, method: str) -> None:
    built = cell_of(cell, method, {}, inputs=3, hidden=50).float()
    x, start = drawn(built, steps=20, batch=33)
    with torch.no_grad():
        whole = cpu.unroll(built, x, start)
        first = cpu.unroll(built, x[:7], start)
        second = cpu.unroll(built, x[7:], first.end, 7)
    assert torch.equal(torch.cat([first.y, second.y]), whole.y)


@default
def test_gradients_are_those_of_finite_differences(cell: str, method: str) -> None:
    built = cell_of(cell, method, {}, inputs=2, hidden=3)
    x, start = drawn(built, steps=3, batch=4)
    module = _Unrolled(built, start)
    names = [name for name, _ in module.named_parameters()]

    def outputs(x: Tensor, *values: Tensor) -> Any:
        return torch.func.functional_call(module, dict(zip(names, values, strict=True)), x)

    values = [parameter.detach().clone().requires_grad_() for parameter in built.parameters()]
    assert torch.autograd.gradcheck(outputs, (x.requires_grad_(), *values))


class _Unrolled(nn.Module):
    """The outputs of a cell, for ``functional_call``."""

    def __init__(self, cell: nn.Module, start: Any) -> None:
        super().__init__()
        self.cell, self.start = cell, start

    def forward(self, x: Tensor) -> Tensor:
        return cpu.unroll(self.cell, x, self.start).y  # type: ignore[arg-type]
