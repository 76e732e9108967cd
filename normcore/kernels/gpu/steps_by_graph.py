"""Compute a sequence as ``steps`` does, but by CUDA graphs.

Shapes: T steps, B examples, H hidden units, G gates.
"""

from collections.abc import Hashable

from torch import Tensor

from normcore.kernels.gpu import graphs, steps
from normcore.kernels.gpu.plan import Gradients, Plan, Tensors, Tiles, at

GRAPHS = graphs.Graphs()


def forward(plan: Plan, tiles: Tiles, of: Tensors) -> None:
    """Run the forward pass: fill in states, cells, sums and statistics."""
    bare = plan.over(None, None, None)

    def work(reads: graphs.Operands, fills: graphs.Operands) -> None:
        mask, h0, c0, of_sums, of_cell, *given = reads
        states, cells, sums, measured_sums, measured_cell = fills
        own = _of(given, states, cells, sums)
        _begin(own.states[0], h0)
        _begin(at(own.cells, 0), c0)
        at_sums, at_cell = (
            measured if known is None else known
            for known, measured in ((of_sums, measured_sums), (of_cell, measured_cell))
        )
        steps.forward(bare.over(mask, at_sums, at_cell), tiles, own)

    populations = [plan.sums.population, plan.cell.population]
    measured = [at_site.statistics if at_site.population is None else None for at_site in (plan.sums, plan.cell)]
    GRAPHS.run(
        ("forward", *_list_launch_conditions(plan, tiles, of)),
        work,
        [plan.mask, of.states[0], at(of.cells, 0), *populations, *_list_inputs(of)],
        [of.states, of.cells, of.sums, *measured],
    )


def backward(plan: Plan, tiles: Tiles, of: Tensors, grad_y: Tensor | None, grads: Gradients) -> None:
    """Run the backward pass: fill in ``grads`` from the gradients of y (T, B, H) and of the last state."""
    bare = plan.over(None, None, None)

    def work(reads: graphs.Operands, fills: graphs.Operands) -> None:
        mask, of_sums, of_cell, grad_y, grad_h, grad_c, states, cells, sums, *given = reads
        h, c, term, summed, *parameters = fills
        _begin(h, grad_h)
        _begin(c, grad_c)
        for parameter in parameters:
            if parameter is not None:
                parameter.zero_()
        assert h is not None
        assert summed is not None
        own = Gradients(h, c, term, summed, parameters)
        steps.backward(bare.over(mask, of_sums, of_cell), tiles, _of(given, states, cells, sums), grad_y, own)

    statistics = [plan.sums.statistics, plan.cell.statistics]
    GRAPHS.run(
        ("backward", *_list_launch_conditions(plan, tiles, of)),
        work,
        [plan.mask, *statistics, grad_y, grads.h, grads.c, of.states, of.cells, of.sums, *_list_inputs(of)],
        [grads.h, grads.c, grads.term, grads.sums, *grads.parameters],
    )


def _list_launch_conditions(plan: Plan, tiles: Tiles, of: Tensors) -> tuple[Hashable, ...]:
    """Return everything, except shapes, that decides which kernels are launched."""
    return (plan.together, tiles, *plan.list_constants_of_forward(of.states.shape[2]).items())


def _list_inputs(of: Tensors) -> list[Tensor | None]:
    return [of.term, of.weight, of.gain, of.shift, of.cell_gain, of.cell_shift]


def _of(given: graphs.Operands, states: Tensor | None, cells: Tensor | None, sums: Tensor | None) -> Tensors:
    term, weight, gain, shift, cell_gain, cell_shift = given
    assert weight is not None
    assert states is not None
    assert sums is not None
    return Tensors(term, weight, states, cells, sums, gain, shift, cell_gain, cell_shift)


def _begin(state: Tensor | None, first: Tensor | None) -> None:
    if state is not None and first is not None:
        state.copy_(first)
