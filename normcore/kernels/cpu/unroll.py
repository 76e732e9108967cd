"""Unroll a cell over a sequence with the compiled kernels, with the same results as ``normcore.recurrent.unroll``.

Shapes: T steps, B examples, F inputs, H hidden units, G gates.
"""

import ctypes
from collections.abc import Mapping, Sequence
from typing import Any, cast

import torch
from torch import Tensor
from torch.nn import functional

from normcore import recurrent
from normcore.cells import Cell, State
from normcore.cells.rnn import RNN
from normcore.kernels.cell_layout import CellLayout, NormKind
from normcore.kernels.cpu.load import PRECISIONS, load
from normcore.kernels.cpu.recurrence import Recurrence, Site, address
from normcore.kernels.gradient import forbid_second_gradient
from normcore.norms.sequence_batch_norm import SequenceBatchNormAtSite
from normcore.recurrent.unroll import S, UnrolledCell

KEPT_INPUTS = 60  # with this many features or more, W_x x is saved for backward: computing it again would take longer
MEASURED_ANEW = 8  # with fewer examples, batch norms' statistics are not saved: they are as large as for more examples
SITES = ("input", "recurrent", "cell")
INPUTS = ("x", "h0", "c0", "weight_ih", "weight_hh", "bias")
GIVEN = len(INPUTS) + 2 * len(SITES)  # number of tensors: the inputs, and gain and shift of each site

Outputs = tuple[Tensor, Tensor, Tensor | None]
"""y (T, B, H), and h and c (B, H) after the last step; c is None for a cell without c."""


class KernelFailed(RuntimeError):
    """A kernel failed because there is not enough memory."""


def unroll(cell: Cell[S], x: Tensor, state: S, t: int = 0, mask: Tensor | None = None) -> UnrolledCell:
    """Unroll a cell with the arguments and results of ``normcore.recurrent.unroll``. The computation is in float32,
    under autocast, too.

    The gradient can be taken only once, and only in reverse mode: tangents of forward mode are lost. Cases without a
    kernel run by the reference: other devices, gradients through population statistics, cells in which only some norms
    use the minibatch's statistics, and modules that are not normcore's own.

    Raises:
        KernelFailed: there is not enough memory.
        KernelsMissing: there are no compiled kernels on this machine.
        ValueError: there is only one example for the minibatch's statistics, as in the reference.
    """
    layout = CellLayout.of_pass(cell, x, state, mask) if x.device.type == "cpu" else None
    if layout is None:
        return recurrent.unroll(cell, x, state, t, mask)
    unrolled = _Call(cast(Any, cell), layout, x, t, mask).unroll_cell(cell, x, state)
    if all(moments.isfinite().all() for moments in unrolled.moments.values()):
        return unrolled
    with torch.no_grad():  # float32 cannot hold some variances
        return unrolled._replace(moments=recurrent.unroll(cell, x, state, t, mask).moments)


class _Call:
    """One pass of a kernel: its description for the kernel, and the tensors that the kernel reads and writes."""

    def __init__(self, cell: Any, layout: CellLayout, x: Tensor, t: int, mask: Tensor | None) -> None:
        self.layout = layout
        self.has_gradient = torch.is_grad_enabled()
        self.keeps_sums = not isinstance(cell, RNN)  # an RNN's outputs serve instead: as many numbers as its sums
        self.mask = None if mask is None else mask.to(torch.uint8).contiguous()
        self.dtype = cell.weight_hh.dtype if cell.weight_hh.dtype in PRECISIONS else torch.float32
        self.kernels = load(type(cell).__name__, self.dtype)
        self.first = t
        self.population = [
            None if known is None else tuple(part.to(self.dtype).contiguous() for part in known)
            for known in layout.population()
        ]
        self.moments: dict[str, Tensor] = {}

    def unroll_cell(self, cell: Any, x: Tensor, state: State) -> UnrolledCell:
        parameters = [part for site in self.layout.sites for part in (site.gain, site.shift)]
        weight_ih = cell.weight_ih
        if self.layout.over_all_steps is not None:
            weight_ih, parameters[1] = self.fold_norm(self.layout.over_all_steps, weight_ih, x)
        given = (x, state.h, getattr(state, "c", None), weight_ih, cell.weight_hh, cell.bias, *parameters)
        tensors = [None if tensor is None else tensor.to(self.dtype).contiguous() for tensor in given]
        if self.has_gradient:
            y, h, c = _Recurrence.apply(self, *tensors)  # type: ignore[no-untyped-call]
        else:
            y, h, c = self.outputs(tensors, {})
        end = (h,) if c is None else (h, c)
        return UnrolledCell(y, type(state)(*end), self.moments)

    def fold_norm(self, norm: SequenceBatchNormAtSite, weight_ih: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        """Compute W (G H, F) and s (G H) such that norm(W_x x) = W x + s at every step."""
        norm.moments()  # drop the moments that an interrupted pass left there
        with torch.autocast("cpu", enabled=False):
            a = functional.linear(x.to(self.dtype), weight_ih.to(self.dtype)) if norm.takes_batch else None
            there = None if self.mask is None else self.mask.bool()
            mean, scale = norm.standardization(a, there)  # (1, G H)
            seen = norm.moments()
            if seen is not None:
                self.moments["norm_x"] = seen
            return scale.mT * weight_ih, -(mean * scale).squeeze(0)

    def recurrence(self, given: Sequence[Tensor | None], kept: Mapping[str, Tensor]) -> Recurrence:
        """Fill the structure that both the forward and the backward kernel read."""
        inputs, parameters = dict(zip(INPUTS, given, strict=False)), given[len(INPUTS) :]
        x, h0 = cast(Tensor, inputs["x"]), cast(Tensor, inputs["h0"])
        layout = self.layout
        told = Recurrence(
            steps=len(x),
            batch=x.shape[1],
            inputs=x.shape[2],
            hidden=h0.shape[1],
            threads=torch.get_num_threads(),
            method=layout.kind,
            together=layout.together,
            per_gate=layout.per_gate,
            carries_normalized=layout.carries_normalized,
            bias_inside=layout.bias_inside,
            bias_outside=layout.bias_outside,
            mask=address(self.mask),
            **{name: address(tensor) for name, tensor in inputs.items()},
        )
        for k, (name, site, population) in enumerate(zip(SITES, layout.sites, self.population, strict=True)):
            at: Site = getattr(told, name)
            at.normalized, at.eps = site.norm is not None, site.eps
            at.gain, at.shift = address(parameters[2 * k]), address(parameters[2 * k + 1])
            if population is not None:
                at.mean, at.var = map(address, population)
                at.known, at.first = len(population[0]), self.first
        for name, tensor in kept.items():
            *place, field = name.split(".")
            setattr(getattr(told, place[0]) if place else told, field, address(tensor))
        return told

    def outputs(self, given: Sequence[Tensor | None], kept: Mapping[str, Tensor]) -> Outputs:
        """Run the forward kernel; return its outputs, and fill the tensors ``kept`` for backward.

        Args:
            given: contiguous tensors.
        """
        told = self.recurrence(given, kept)
        x, c0 = cast(Tensor, given[0]), given[2]
        y = x.new_empty(told.steps, told.batch, told.hidden)
        c = None if c0 is None else torch.empty_like(c0)
        told.y, told.end_c = address(y), address(c)
        for name, site in zip(SITES, self.layout.sites, strict=True):
            if site.wants_moments:
                self.moments[site.name] = x.new_empty(2, told.steps, self._gates(name) * told.hidden)
                getattr(told, name).moments = address(self.moments[site.name])
        self.run("forward", told)
        return y, y[-1].clone(), c

    def room(self, given: Sequence[Tensor | None]) -> dict[str, Tensor]:
        """Allocate the buffers that forward fills for backward, by the names of their fields; fields of a site are
        called ``site.field``. Tensors that torch allocates begin with a cache line, as the kernels expect.
        """
        x, h0, c0 = cast(Tensor, given[0]), cast(Tensor, given[1]), given[2]
        (steps, batch, features), hidden = x.shape, h0.shape[1]
        stride, padded = self.kernels.normbench_stride(hidden), self.kernels.normbench_padded(hidden)
        over_examples = self.layout.kind is NormKind.BATCH_NORM
        lines = padded if over_examples else batch
        room = {}
        if self.keeps_sums:
            room["kept_recurrent"] = x.new_empty(steps, batch, stride)
        if self.keeps_sums and features >= KEPT_INPUTS and not self.layout.together:
            room["kept_input"] = x.new_empty(steps, batch, stride)
        if c0 is not None:
            room["kept_c"] = x.new_empty(steps, batch, padded)
        if over_examples and c0 is None and batch < MEASURED_ANEW:
            return {**room, "longest_h": x.new_empty(steps)}
        for name, site in zip(SITES, self.layout.sites, strict=True):
            if site.norm is not None:
                room[f"{name}.statistics"] = x.new_empty(steps, lines, 2 * self._gates(name))
        return room

    def _gates(self, site: str) -> int:
        return 1 if site == "cell" else self.layout.gates

    def run(self, pass_: str, told: Recurrence) -> None:
        failure = getattr(self.kernels, f"normbench_{pass_}")(ctypes.byref(told))
        if failure:
            raise KernelFailed(failure.decode())


class _Recurrence(torch.autograd.Function):
    """Differentiable form of ``_Call.outputs``: the forward pass, and the gradient by the backward kernel."""

    @staticmethod
    def forward(ctx: Any, call: _Call, *given: Tensor | None) -> Outputs:
        kept = call.room(given) if any(ctx.needs_input_grad) else {}
        outputs = call.outputs(given, kept)
        ctx.call, ctx.kept = call, tuple(kept)
        ctx.set_materialize_grads(False)
        ctx.save_for_backward(outputs[0], *given, *kept.values())
        return outputs

    @staticmethod
    @forbid_second_gradient
    def backward(ctx: Any, grad_y: Tensor | None, grad_h: Tensor | None, grad_c: Tensor | None) -> Any:
        call: _Call = ctx.call
        y, *saved = ctx.saved_tensors
        given = saved[:GIVEN]
        told = call.recurrence(given, dict(zip(ctx.kept, saved[GIVEN:], strict=True)))
        told.y = address(y)
        after = [None if grad is None else grad.contiguous() for grad in (grad_y, grad_h, grad_c)]
        told.grad_y, told.grad_h, told.grad_c = map(address, after)
        grads = [None if tensor is None else torch.empty_like(tensor) for tensor in given]
        if not ctx.needs_input_grad[1]:
            grads[0] = None  # the gradient of x would cost a product
        for name, grad in zip(INPUTS, grads, strict=False):
            setattr(told, f"grad_{name}", address(grad))
        for k, name in enumerate(SITES):
            at: Site = getattr(told, name)
            at.grad_gain, at.grad_shift = map(address, grads[len(INPUTS) + 2 * k : len(INPUTS) + 2 * k + 2])
        call.run("backward", told)
        return None, *grads
