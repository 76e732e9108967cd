"""The recurrence in C++, and its gradient, as operators of torch.

``torch.ops.normbench.recurrence`` computes a pass, and ``recurrence_backward`` its gradient. ``torch.compile`` and
``torch.export`` keep both whole, because they know the shapes of the results without running a kernel.

Shapes: T steps, B examples, F inputs, H hidden units, G gates, S known steps of a population.
"""

import ctypes
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import torch
from torch import Tensor

from normcore.kernels.cell_layout import CellLayout
from normcore.kernels.cpu.arrays import SITES, Sizes, lay_out, lay_out_once
from normcore.kernels.cpu.load import load
from normcore.kernels.cpu.recurrence import Recurrence, Site, address
from normcore.kernels.gradient import check_kinds, forbid_second_gradient
from normcore.kernels.library import LIBRARY, register_gradient

INPUTS = ("x", "h0", "c0", "weight_ih", "weight_hh", "bias", "bias_hh")
PARAMETERS = tuple(f"{part}_{site}" for site in SITES for part in ("gain", "shift"))
POPULATION = tuple(f"{part}_{site}" for site in SITES for part in ("mean", "var"))
GIVEN = len(INPUTS) + len(PARAMETERS)


class KernelFailed(RuntimeError):
    """A kernel failed because there is not enough memory."""


class Choices(NamedTuple):
    """Choices of a pass, apart from its tensors. Names without a description are those of ``CellLayout``.

    Attributes:
        cell: name of the cell's class.
        normalized: for each site, whether it has a norm.
        measured: for each site, whether the minibatch's moments are wanted.
    """

    cell: str
    kind: int
    together: bool
    per_gate: bool
    carries_normalized: bool
    bias_inside: bool
    bias_outside: bool
    normalized: tuple[bool, bool, bool]
    measured: tuple[bool, bool, bool]

    @classmethod
    def of(cls, layout: CellLayout) -> "Choices":
        (x, h, c) = layout.sites
        return cls(
            layout.cell.__name__,
            int(layout.kind),
            layout.together,
            layout.per_gate,
            layout.carries_normalized,
            layout.bias_inside,
            layout.bias_outside,
            (x.norm is not None, h.norm is not None, c.norm is not None),
            (x.wants_moments, h.wants_moments, c.wants_moments),
        )


def in_writing(choices: Choices) -> str:
    """Write the choices as text: the dispatcher hands over one string in less time than nine arguments."""
    cell, *flags, normalized, measured = choices
    return " ".join((cell, *[f"{flag:d}" for flag in (*flags, *normalized, *measured)]))


@lru_cache(maxsize=64)
def _read(text: str) -> Choices:
    cell, kind, *numbers = text.split()
    flags = [number == "1" for number in numbers]
    return Choices._make((cell, int(kind), *flags[:-6], tuple(flags[-6:-3]), tuple(flags[-3:])))


def _optional(names: Sequence[str]) -> str:
    return ", ".join(f"Tensor? {name}" for name in names)


TENSORS = (
    "Tensor x, Tensor h0, Tensor? c0, Tensor weight_ih, Tensor weight_hh, Tensor bias, Tensor? bias_hh, "
    f"{_optional(PARAMETERS)}, Tensor? mask, {_optional(POPULATION)}"
)
LIBRARY.define(
    f"recurrence({TENSORS}, int first, float[] eps, str choices, bool keeps)"
    " -> (Tensor y, Tensor h, Tensor c, Tensor moments, Tensor kept)",
)
LIBRARY.define(
    f"recurrence_backward({TENSORS}, int first, float[] eps, str choices, Tensor y, Tensor kept,"
    f" {_optional(['grad_y', 'grad_h', 'grad_c'])}, bool into_x) -> Tensor[]",
)
N_TENSORS = GIVEN + 1 + len(POPULATION)
N_ARGUMENTS = N_TENSORS + 3
recurrence = torch.ops.normbench.recurrence.default
"""Compute a pass of a cell by its compiled kernel.

Args:
    x (T, B, F), h0, c0 (B, H), weight_ih (G H, F), weight_hh (G H, H), bias, bias_hh (G H): tensors of one type,
        float32 or float64; c0 is None for a cell without c. bias_hh, if there is one, is added to the bias, in a GRU to
        the recurrent term.
    gain_input, shift_input, ...: parameters of each site, (G H) or (H).
    mask: (T, B) of uint8, 0 at the steps that an example does not have.
    mean_input, var_input, ...: population statistics (S, G H) or (S, H) of the sites.
    first: number of the first step.
    eps: the eps of each site's norm.
    choices: text that ``in_writing`` makes of ``Choices``.
    keeps: whether ``kept`` is filled for backward. The operator's gradient sets it.

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
        self.first, self.eps, text = arguments[N_TENSORS:N_ARGUMENTS]
        self.choices = choices = _read(text)
        x, h0, c0, _, weight_hh, *_ = arguments
        self.x: Tensor = x
        (steps, batch, inputs), hidden = x.shape, h0.shape[1]
        self.sizes = Sizes(
            choices.cell,
            x.dtype,
            choices.kind,
            choices.together,
            choices.normalized,
            choices.measured,
            c0 is not None,
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
        choices, sizes = self.choices, self.sizes
        structure = Recurrence(
            sizes.steps,
            sizes.batch,
            sizes.inputs,
            sizes.hidden,
            torch.get_num_threads(),
            choices.kind,
            choices.together,
            choices.per_gate,
            choices.carries_normalized,
            choices.bias_inside,
            choices.bias_outside,
            *pointers[: len(INPUTS)],
            pointers[GIVEN],
        )
        parameters, population = pointers[len(INPUTS) : GIVEN], pointers[GIVEN + 1 :]
        for k, name in enumerate(SITES):
            at: Site = getattr(structure, name)
            at.normalized, at.eps = choices.normalized[k], self.eps[k]
            at.gain, at.shift = parameters[2 * k : 2 * k + 2]
            means = self.tensors[GIVEN + 1 + 2 * k]
            if means is not None:
                at.mean, at.var = population[2 * k : 2 * k + 2]
                at.known, at.first = len(means), self.first
        fill(structure)
        failure = getattr(load(choices.cell, sizes.dtype), f"normbench_{pass_}")(ctypes.byref(structure))
        if failure:
            raise KernelFailed(failure.decode())


def _forward(*arguments: Any) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    call = _Call(arguments)
    y, h, c, moments, kept = room = call.make_room(arguments[-1])

    def fill(structure: Recurrence) -> None:
        structure.y, structure.end_h = y.data_ptr(), h.data_ptr()
        structure.end_c = c.data_ptr() if call.sizes.has_c else None
        call.moments.point(structure, moments)
        if arguments[-1]:
            call.kept.point(structure, kept)

    call.run("forward", fill)
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
    check_kinds([_read(ctx.of[2]).kind])
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
