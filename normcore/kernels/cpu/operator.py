"""The recurrence in C++, and its gradient, as operators of torch.

``torch.ops.normbench.recurrence`` computes a pass, and ``recurrence_backward`` its gradient. ``torch.compile`` and
``torch.export`` keep both whole, because they know the shapes of the results without running a kernel.

Shapes: T steps, B examples, F inputs, H hidden units, G gates, S known steps of a population.
"""

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from normcore.kernels.cell_layout import CellLayout
from normcore.kernels.cpu.arrays import SITES, Sizes, lay_out, lay_out_once
from normcore.kernels.cpu.load import load
from normcore.kernels.cpu.recurrence import Recurrence, Site, address
from normcore.kernels.gradient import forbid_second_gradient
from normcore.kernels.library import LIBRARY, register_gradient

INPUTS = ("x", "h0", "c0", "weight_ih", "weight_hh", "bias")
PARAMETERS = tuple(f"{part}_{site}" for site in SITES for part in ("gain", "shift"))
POPULATION = tuple(f"{part}_{site}" for site in SITES for part in ("mean", "var"))
GIVEN = len(INPUTS) + len(PARAMETERS)


class KernelFailed(RuntimeError):
    """A kernel failed because there is not enough memory."""


class Plan(NamedTuple):
    """Choices of a pass, as numbers that an operator takes; the names are those of ``CellLayout``.

    Attributes:
        first: number of the first step.
    """

    kind: int
    together: int
    per_gate: int
    carries_normalized: int
    bias_inside: int
    bias_outside: int
    first: int


class Pass(NamedTuple):
    """Arguments of an operator that are no tensors.

    Attributes:
        cell: name of the cell's class.
        plan: the numbers of a ``Plan``.
        normalized: for each site, whether it has a norm.
        measured: for each site, whether the minibatch's moments are wanted.
        eps: for each site, the eps of its norm.
    """

    cell: str
    plan: Sequence[int]
    normalized: Sequence[bool]
    measured: Sequence[bool]
    eps: Sequence[float]

    @classmethod
    def of(cls, layout: CellLayout, first: int) -> "Pass":
        plan = Plan(
            layout.kind,
            layout.together,
            layout.per_gate,
            layout.carries_normalized,
            layout.bias_inside,
            layout.bias_outside,
            first,
        )
        return cls(
            layout.cell.__name__,
            [int(number) for number in plan],
            [site.norm is not None for site in layout.sites],
            [site.wants_moments for site in layout.sites],
            [site.eps for site in layout.sites],
        )


def _optional(names: Sequence[str]) -> str:
    return ", ".join(f"Tensor? {name}" for name in names)


TENSORS = (
    "Tensor x, Tensor h0, Tensor? c0, Tensor weight_ih, Tensor weight_hh, Tensor bias, "
    f"{_optional(PARAMETERS)}, Tensor? mask, {_optional(POPULATION)}"
)
PASS = "str cell, int[] plan, bool[] normalized, bool[] measured, float[] eps"
LIBRARY.define(
    f"recurrence({TENSORS}, {PASS}, bool keeps) -> (Tensor y, Tensor h, Tensor c, Tensor moments, Tensor kept)",
)
LIBRARY.define(
    f"recurrence_backward({TENSORS}, {PASS}, Tensor y, Tensor kept, {_optional(['grad_y', 'grad_h', 'grad_c'])},"
    " bool into_x) -> Tensor[]",
)
N_TENSORS = GIVEN + 1 + len(POPULATION)
N_ARGUMENTS = N_TENSORS + len(Pass._fields)
recurrence = torch.ops.normbench.recurrence.default
"""Compute a pass of a cell by its compiled kernel.

Args:
    x (T, B, F), h0, c0 (B, H), weight_ih (G H, F), weight_hh (G H, H), bias (G H): tensors of one type, float32 or
        float64; c0 is None for a cell without c.
    gain_input, shift_input, ...: parameters of each site, (G H) or (H).
    mask: (T, B) of uint8, 0 at the steps that an example does not have.
    mean_input, var_input, ...: population statistics (S, G H) or (S, H) of the sites.
    cell, plan, normalized, measured, eps: see ``Pass``.
    keeps: whether ``kept`` is filled for backward.

Returns:
    y (T, B, H); h and c (B, H) after the last step, c empty for a cell without c; the moments that batch norms
    measured, and the arrays for backward, one after the other.

Raises:
    KernelFailed: there is not enough memory.
    KernelsMissing: there are no compiled kernels on this machine.
"""
recurrence_backward = torch.ops.normbench.recurrence_backward.default


class _Call:
    """A call of an operator: its arguments, and the arrays that the kernel fills."""

    def __init__(self, arguments: Sequence[Any]) -> None:
        self.given: Sequence[Tensor | None] = arguments[:GIVEN]
        self.tensors: Sequence[Tensor | None] = arguments[:N_TENSORS]
        self.of = of = Pass(*arguments[N_TENSORS:N_ARGUMENTS])
        self.plan = plan = Plan(*of.plan)
        x, self.h0, self.c0, _, weight_hh, *_ = arguments
        self.x: Tensor = x
        (steps, batch, inputs), hidden = x.shape, self.h0.shape[1]
        self.sizes = Sizes(
            of.cell,
            x.dtype,
            plan.kind,
            plan.together,
            tuple(of.normalized),
            tuple(of.measured),
            self.c0 is not None,
            steps,
            batch,
            inputs,
            hidden,
            weight_hh.shape[0] // hidden,
        )
        known = isinstance(steps, int) and isinstance(batch, int)  # a compiler's symbols have no value
        self.kept, self.moments = (lay_out_once if known else lay_out)(self.sizes)

    def make_room(self, keeps: bool) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        """Allocate y, h, c, the moments, and the arrays for backward."""
        x, of = self.x, self.sizes
        return (
            x.new_empty(of.steps, of.batch, of.hidden),
            x.new_empty(of.batch, of.hidden),
            x.new_empty(of.batch, of.hidden) if of.has_c else x.new_empty(0),
            x.new_empty(self.moments.size),
            x.new_empty(self.kept.size if keeps else 0),
        )

    def run(self, pass_: str, fill: Callable[[Recurrence], None]) -> None:
        """Run the kernel of a pass.

        Args:
            fill: function that fills those fields of the structure that only this pass has.

        Raises:
            KernelFailed: there is not enough memory.
        """
        tensors = [None if tensor is None else tensor.contiguous() for tensor in self.tensors]
        pointers = [None if tensor is None else tensor.data_ptr() for tensor in tensors]
        of, plan, sizes = self.of, self.plan, self.sizes
        structure = Recurrence(
            sizes.steps,
            sizes.batch,
            sizes.inputs,
            sizes.hidden,
            torch.get_num_threads(),
            plan.kind,
            plan.together,
            plan.per_gate,
            plan.carries_normalized,
            plan.bias_inside,
            plan.bias_outside,
            *pointers[: len(INPUTS)],
            pointers[GIVEN],
        )
        parameters, population = pointers[len(INPUTS) : GIVEN], pointers[GIVEN + 1 :]
        for k, name in enumerate(SITES):
            at: Site = getattr(structure, name)
            at.normalized, at.eps = of.normalized[k], of.eps[k]
            at.gain, at.shift = parameters[2 * k : 2 * k + 2]
            means = self.tensors[GIVEN + 1 + 2 * k]
            if means is not None:
                at.mean, at.var = population[2 * k : 2 * k + 2]
                at.known, at.first = len(means), plan.first
        fill(structure)
        failure = getattr(load(of.cell, sizes.dtype), f"normbench_{pass_}")(ctypes.byref(structure))
        if failure:
            raise KernelFailed(failure.decode())


def _forward(*arguments: Any) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    call = _Call(arguments)
    y, h, c, moments, kept = room = call.make_room(arguments[-1])

    def fill(structure: Recurrence) -> None:
        structure.y, structure.end_c = y.data_ptr(), c.data_ptr() if call.sizes.has_c else None
        call.moments.point(structure, moments)
        if arguments[-1]:
            call.kept.point(structure, kept)

    call.run("forward", fill)
    h.copy_(y[-1])
    return room


def _backward(*arguments: Any) -> list[Tensor]:
    call = _Call(arguments)
    *after, into_x = arguments[N_ARGUMENTS:]
    contiguous: list[Any] = [None if tensor is None else tensor.contiguous() for tensor in after]
    y, kept, grad_y, grad_h, grad_c = contiguous
    grads = _make_grads(call, into_x)

    def fill(structure: Recurrence) -> None:
        structure.y, structure.grad_y, structure.grad_h, structure.grad_c = map(address, (y, grad_y, grad_h, grad_c))
        call.kept.point(structure, kept)
        pointers = [None if grad is None else grad.data_ptr() for grad in grads]
        for name, pointer in zip(INPUTS, pointers, strict=False):
            setattr(structure, f"grad_{name}", pointer)
        for k, name in enumerate(SITES):
            at: Site = getattr(structure, name)
            at.grad_gain, at.grad_shift = pointers[len(INPUTS) + 2 * k : len(INPUTS) + 2 * k + 2]

    call.run("backward", fill)
    return [grad for grad in grads if grad is not None]


def _make_grads(call: _Call, into_x: bool) -> list[Tensor | None]:
    """Allocate the gradients of the given tensors. That of x would cost a product, so it is None if not needed."""
    return [
        None if tensor is None or (tensor is call.x and not into_x) else tensor.new_empty(tensor.shape)
        for tensor in call.given
    ]


def _shapes_of_forward(*arguments: Any) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    return _Call(arguments).make_room(arguments[-1])


def _shapes_of_backward(*arguments: Any) -> list[Tensor]:
    return [grad for grad in _make_grads(_Call(arguments), arguments[-1]) if grad is not None]


def _save(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    y, _, _, moments, kept = output
    ctx.mark_non_differentiable(moments, kept)
    ctx.set_materialize_grads(False)
    ctx.save_for_backward(y, kept, *inputs[:N_TENSORS])
    ctx.of = inputs[N_TENSORS:N_ARGUMENTS]


@forbid_second_gradient
def _differentiate(ctx: Any, *grads: Tensor | None) -> tuple[Any, ...]:
    y, kept, *tensors = ctx.saved_tensors
    into_x = ctx.needs_input_grad[1]  # after the dispatcher's keys
    found = iter(recurrence_backward(*tensors, *ctx.of, y, kept, *grads[:3], into_x))
    return tuple(
        None if tensor is None or (k == 0 and not into_x) else next(found) for k, tensor in enumerate(tensors[:GIVEN])
    )


LIBRARY.impl("recurrence", _forward, "CPU")
LIBRARY.impl("recurrence_backward", _backward, "CPU")
torch.library.register_fake("normbench::recurrence", _shapes_of_forward, lib=LIBRARY)
torch.library.register_fake("normbench::recurrence_backward", _shapes_of_backward, lib=LIBRARY)
register_gradient("recurrence", _save, _differentiate)
