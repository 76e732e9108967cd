"""Layers of ``normcore.nn`` on the device: beside ``torch.nn``, compiled as one graph, and the library's operator."""

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor

from benchmarks.gpu_day.device import SHORT, Device
from benchmarks.gpu_day.results import Case
from benchmarks.kernels.contestants import IN_TORCH, Shape
from normcore import nn
from normcore.kernels.gpu.check import relative

LAYERS = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}
SHAPE = Shape(50, 16, 24, 100)


def cases(device: Device) -> Iterator[Case]:
    shape = SHORT if device.interpreted else SHAPE
    for cell in LAYERS:
        yield Case(f"normcore.nn, {cell} beside torch.nn", partial(beside_torch, device, cell, shape))
    for cell in LAYERS:
        yield Case(f"normcore.nn, {cell} compiled", partial(compile_layer, device, cell, shape))
        yield Case(f"operator of {cell}", partial(check_operator, device, cell, shape))


def _layer(device: Device, cell: str, shape: Shape, norm: str | dict[str, Any]) -> Any:
    """Make a layer that uses Triton's kernels. The interpreter's device, a CPU, would choose other kernels."""
    kernel = "auto" if device.interpreted else "fused"
    layer = LAYERS[cell](shape.inputs, shape.hidden, 2, norm=norm, kernel=kernel, device=device.torch)
    layer._unroll = device.unroll()
    return layer


def beside_torch(device: Device, cell: str, shape: Shape) -> dict[str, Any]:
    """Compare outputs, last states and gradients of a layer without norm, and those of ``torch.nn``, with
    ``torch.nn`` in float64.
    """
    theirs = IN_TORCH[cell](shape.inputs, shape.hidden, 2).to(device.torch)
    ours = _layer(device, cell, shape, "none")
    ours.load_state_dict(theirs.state_dict())
    exact = IN_TORCH[cell](shape.inputs, shape.hidden, 2).double().to(device.torch)
    exact.load_state_dict(theirs.state_dict())
    x = torch.randn(shape[:3], device=device.torch)
    expected = _everything(exact, x.double())
    errors, of_theirs = (relative(_everything(layer, x), expected) for layer in (ours, theirs))
    return {"cell": cell, "error": max(errors.values()), "theirs_error": max(of_theirs.values())}


def _everything(layer: Any, x: Tensor, call: Callable[..., Any] | None = None) -> dict[str, Tensor]:
    """Return the outputs and the last states of a layer, and the gradients of its input and of all weights.

    Args:
        call: function that computes the layer; None for the layer itself.
    """
    x = x.clone().requires_grad_()
    y, last = (layer if call is None else call)(x)
    states = last if isinstance(last, tuple) else (last,)
    leaves = {"x": x, **dict(layer.named_parameters())}
    gradients = torch.autograd.grad((y.sin().sum() + sum(state.cos().sum() for state in states)), list(leaves.values()))
    found = {"y": y.detach(), **{f"last {k}": state.detach() for k, state in enumerate(states)}}
    return {**found, **{f"grad of {name}": g for name, g in zip(leaves, gradients, strict=True)}}


def compile_layer(device: Device, cell: str, shape: Shape) -> dict[str, Any]:
    """Compile a layer with layer norm as one graph; compare it with the layer itself."""
    torch.compiler.reset()
    # on a CPU, the norm of the input's term looks at its numbers, which no graph can
    sites = {"lstm": ["recurrent", "cell"], "gru": ["recurrent"]}.get(cell)
    only = {"method": "layer_norm", "sites": sites} if device.interpreted and sites else "layer_norm"
    layer = _layer(device, cell, shape, only)
    backend = "aot_eager" if device.interpreted else "inductor"
    compiled = torch.compile(layer, fullgraph=True, backend=backend)
    x = torch.randn(shape[:3], device=device.torch)
    errors = relative(_everything(layer, x, compiled), {name: t.double() for name, t in _everything(layer, x).items()})
    return {"cell": cell, "difference": max(errors.values())}


def check_operator(device: Device, cell: str, shape: Shape) -> dict[str, Any]:
    """Let torch check the schema of the kernels' operator, and the shapes that it tells compilers."""
    module = import_module("normcore.kernels.gpu.unroll")
    operator, calls = module.term_recurrence, []

    def note(*given: Any, **named: Any) -> Any:
        calls.append([*given, *named.values()])
        return operator(*given, **named)

    layer = _layer(device, cell, shape, "layer_norm")
    x = torch.randn(shape[:3], device=device.torch)
    with patch.object(module, "term_recurrence", note):
        module.unroll(layer.view(0), x, layer.own_state(0, x))
    given = [_detach(argument) for argument in calls[0]]
    tests = ("test_schema", "test_faketensor")
    return {"cell": cell, "checked": torch.library.opcheck(operator, tuple(given), test_utils=tests)}


def _detach(argument: Any) -> Any:
    if isinstance(argument, Tensor) and argument.is_floating_point():
        return argument.detach().requires_grad_(argument.requires_grad)
    return argument
