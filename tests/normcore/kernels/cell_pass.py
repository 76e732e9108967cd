"""Comparison of a twin of the reference with the reference: all results of one forward and backward pass of a cell."""

import math
from typing import Any

import torch
from torch import Tensor

from normcore import recurrent
from normcore.norms.population import batch_norms
from tests.normcore.networks import recurrent as network

OVER_ALL_STEPS: list[tuple[str, str, dict[str, Any]]] = [
    *[(cell, "recurrent_batch_norm", {"input_statistics": "sequence"}) for cell in ("lstm", "gru")],
    ("lstm", "recurrent_batch_norm", {"input_statistics": "sequence", "sites": ["input", "cell"]}),
    *[(cell, "sequence_batch_norm", {}) for cell in ("lstm", "gru", "rnn")],
]
"""Cases whose statistics of the input are over all steps together."""
CASES: list[tuple[str, str, dict[str, Any]]] = [
    *[(cell, "none", {}) for cell in ("lstm", "gru", "rnn")],
    ("lstm", "none", {"cell_bias": True}),
    *[(cell, "rms_norm", {}) for cell in ("lstm", "gru", "rnn")],
    *[
        (cell, "layer_norm", options)
        for cell in ("lstm", "gru", "rnn")
        for options in ({}, {"bias": "inside"}, {"bias": "outside"}, {"bias": "both"}, {"affine": False})
    ],
    *[(cell, "layer_norm", {"scope": "per_gate"}) for cell in ("lstm", "gru")],
    *[
        ("lstm", "layer_norm", {"sites": sites})
        for sites in (["recurrent"], ["input", "recurrent"], ["cell"], ["sum"], ["sum", "cell"])
    ],
    ("lstm", "layer_norm", {"sites": ["sum", "cell"], "scope": "per_gate", "bias": "both"}),
    ("gru", "layer_norm", {"sites": ["input"]}),
    ("rnn", "layer_norm", {"sites": ["input", "recurrent"]}),
    ("lstm", "rms_norm", {"sites": ["recurrent", "cell"]}),
    *[(cell, "recurrent_batch_norm", {}) for cell in ("lstm", "gru", "rnn")],
    *[
        ("lstm", "recurrent_batch_norm", options)
        for options in (
            {"carry": "normalized"},
            {"sites": ["recurrent"]},
            {"sites": ["input", "cell"]},
            {"sites": ["cell"]},
            {"statistics": "shared"},
        )
    ],
    ("gru", "recurrent_batch_norm", {"sites": ["recurrent"]}),
    ("rnn", "recurrent_batch_norm", {"sites": ["input", "recurrent"]}),
    *OVER_ALL_STEPS,
]
"""Cell, method, and options that change the step: options of the method, or ``cell_bias`` of the cell."""
SITES: list[tuple[str, str, dict[str, Any]]] = [
    *[("lstm", "layer_norm", {"sites": sites}) for sites in (["input"], ["input", "cell"], ["recurrent", "cell"])],
    ("gru", "layer_norm", {"sites": ["recurrent"]}),
    *[("rnn", "layer_norm", {"sites": [site]}) for site in ("input", "recurrent")],
    *[("lstm", "rms_norm", {"sites": [site]}) for site in ("sum", "input", "cell")],
    *[
        ("lstm", "recurrent_batch_norm", {"sites": sites})
        for sites in (["input"], ["input", "recurrent"], ["recurrent", "cell"])
    ],
    ("gru", "recurrent_batch_norm", {"sites": ["input"]}),
    *[("rnn", "recurrent_batch_norm", {"sites": [site]}) for site in ("input", "recurrent")],
]
"""More places for norms."""
FUSED_CELLS = ("lstm", "gru", "rnn")
FUSED = {"none", "layer_norm", "recurrent_batch_norm", "rms_norm", "sequence_batch_norm"}
"""Methods that have fused kernels."""
DEFAULTS = [case for case in CASES if not case[2] and case not in OVER_ALL_STEPS]
OF_BATCH_NORM = [case for case in CASES if case[1] == "recurrent_batch_norm"]
EXACT = 1e-12
TINIEST = 1e-25


def cell_of(cell: str, method: str, options: dict[str, Any], inputs: int, hidden: int, seed: int = 0) -> Any:
    """Build a cell in float64 with random parameters, gains and shifts."""
    torch.default_generator.manual_seed(seed)
    options = {"population": "running", **options} if method == "recurrent_batch_norm" else dict(options)
    of_cell = {"cell_bias": options.pop("cell_bias")} if "cell_bias" in options else {}
    built: Any = network(cell, inputs, hidden, norm={"method": method, **options}, **of_cell).double().cells[0]
    with torch.no_grad():
        for parameter in built.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return built


def drawn(cell: Any, steps: int, batch: int, seed: int = 1) -> tuple[Tensor, Any]:
    """Draw random inputs and a random first state."""
    torch.default_generator.manual_seed(seed)
    start = cell.initial_state(batch)
    x = torch.randn(steps, batch, cell.weight_ih.shape[1]).to(cell.weight_ih)
    return x, type(start)(*[part.detach() + 0.1 * torch.randn(part.shape) for part in start])


def everything(unroll: Any, cell: Any, x: Tensor, start: Any, mask: Tensor | None = None) -> dict[str, Tensor]:
    """Run a pass; return outputs, last state, moments, and the gradients of a random loss."""
    x = x.detach().clone().requires_grad_()
    start = type(start)(*[part.detach().clone().requires_grad_() for part in start])
    for parameter in cell.parameters():
        parameter.grad = None
    done = unroll(cell, x, start, 0, mask)
    torch.default_generator.manual_seed(2)
    loss = (done.y * torch.randn(done.y.shape)).sum()
    for part in done.end:
        loss = loss + (part * torch.randn(part.shape)).sum()
    loss.backward()
    named = {name: parameter.grad for name, parameter in cell.named_parameters() if parameter.grad is not None}
    return {
        "y": done.y.detach(),
        **{f"end.{name}": part.detach() for name, part in done.end._asdict().items()},
        "grad of x": x.grad,
        **{f"grad of {name}0": part.grad for name, part in start._asdict().items()},
        **{f"grad of {name}": grad for name, grad in named.items()},
        **{f"moments of {name}": moments for name, moments in done.moments.items()},
    }


def differences(found: dict[str, Tensor], expected: dict[str, Tensor], nothing: float = TINIEST) -> dict[str, float]:
    """Largest difference of each tensor, relative to its largest number, or to ``nothing`` if that is larger."""
    assert found.keys() == expected.keys()
    return {name: relative(found[name], expected[name], nothing) for name in expected}


def relative(found: Tensor, expected: Tensor, nothing: float = TINIEST) -> float:
    """Largest difference, relative to the largest expected number; infinity if there is a NaN."""
    assert found.shape == expected.shape
    size = max(nothing, expected.abs().max().item())
    off = (found.double() - expected.double()).abs().max().item() / size
    return math.inf if math.isnan(off) else off


def of_both(unroll: Any, cell: Any, x: Tensor, start: Any, mask: Tensor | None = None) -> dict[str, float]:
    """Errors of a pass of a twin against the same pass of the reference."""
    return differences(everything(unroll, cell, x, start, mask), everything(recurrent.unroll, cell, x, start, mask))


def in_float32(cell: Any, x: Tensor, start: Any) -> tuple[Any, Tensor, Any]:
    return cell.float(), x.float(), type(start)(*[part.float() for part in start])


def some_mask(steps: int, batch: int) -> Tensor:
    """Mask of sequences whose lengths go from 0 to ``steps``."""
    return torch.arange(steps).unsqueeze(1) < torch.arange(batch) * steps // max(1, batch - 1)


def know_a_population(cell: Any, steps: int) -> None:
    """Give the batch norms of the cell random population statistics, with a variance of 0 in one feature."""
    for norm in batch_norms(cell).values():
        features = norm.running_mean.shape[1]
        norm.running_mean = torch.randn(steps, features).to(norm.running_mean)
        norm.running_var = torch.rand(steps, features).to(norm.running_var)
        norm.running_var[0, 0] = 0
