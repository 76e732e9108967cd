"""Kernels in Triton, run by its interpreter on the CPU."""

import importlib
from collections.abc import Iterator
from statistics import median
from typing import Any

import pytest
import torch

from normcore import recurrent
from normcore.kernels.cell_layout import NormKind
from normcore.norms.population import batch_norms
from tests.normcore.kernels.cell_pass import (
    DEFAULTS,
    EXACT,
    cell_of,
    differences,
    drawn,
    everything,
    in_float32,
    know_a_population,
    of_both,
    relative,
    some_mask,
)
from tests.normcore.kernels.twin import Twin, case, of_batch_norm

pytest.importorskip("triton", reason="needs triton: pip install '.[gpu]'")
from normcore.kernels.gpu import sequence, steps
from normcore.kernels.gpu.plan import Plan, SitePlan
from normcore.kernels.gpu.unroll import unroll as fused_unroll

design = pytest.mark.parametrize("of", ["step", "sequence"])


def choose_design(monkeypatch: pytest.MonkeyPatch, of: str) -> None:
    monkeypatch.setattr(Plan, "fits_on_chip", lambda *_: of == "sequence")


class TestTriton(Twin):
    unroll = staticmethod(fused_unroll)
    steps, batch, hidden = 3, 5, 5


@case
def test_step_by_step_design_equals_the_reference_where_the_other_would_fit(
    cell: str, method: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    choose_design(monkeypatch, "step")
    built = cell_of(cell, method, options, inputs=3, hidden=5)
    x, start = drawn(built, steps=2, batch=3)
    found = of_both(fused_unroll, built, x, start, some_mask(2, 3))
    assert max(found.values()) < EXACT, found


def tiles() -> Iterator[tuple[str, str, int, int, str]]:
    """Each pair in both designs, with two of four shapes in turn, so that each cell and method has all shapes. Step by
    step, a program has a single example, or all of them; otherwise it has 16 or all."""
    for k, (cell, method, _) in enumerate(DEFAULTS):
        for j, (of, several) in enumerate({"step": 5, "sequence": 17}.items()):
            shapes = ((2, 3), (3, 33), (several, 4), (2, 65))
            for batch, hidden in shapes[(k + j) % 2 :: 2]:
                yield cell, method, batch, hidden, of


@pytest.mark.parametrize(("cell", "method", "batch", "hidden", "of"), list(tiles()))
def test_tiles_of_any_shape_equal_the_reference(
    cell: str, method: str, batch: int, hidden: int, of: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose_design(monkeypatch, of)
    built = cell_of(cell, method, {}, inputs=2, hidden=hidden)
    x, start = drawn(built, 2, batch)
    found = of_both(fused_unroll, built, x, start, some_mask(2, batch))
    assert max(found.values()) < 10 * EXACT, found  # batch norm of 2 examples is less exact


@pytest.mark.parametrize(
    ("cell", "method", "of"),
    [(cell, method, ("step", "sequence")[k % 4 // 2]) for k, (cell, method, _) in enumerate(DEFAULTS) if k % 2 == 0],
)
def test_median_error_under_autocast_is_no_larger_than_that_of_eager_torch(
    cell: str, method: str, of: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bound is 2e-2, or 1.5 times the error of eager torch. Backward is outside of autocast, as in trainings."""
    choose_design(monkeypatch, of)
    autocast = torch.autocast("cpu", torch.bfloat16)
    of_fused: list[dict[str, float]] = []
    of_eager: list[dict[str, float]] = []
    for seed in range(3):
        built = cell_of(cell, method, {}, inputs=3, hidden=20, seed=seed)
        x, start = drawn(built, steps=2, batch=20, seed=seed + 1)
        exact = everything(recurrent.unroll, built, x, start)
        for unroll, off in ((fused_unroll, of_fused), (recurrent.unroll, of_eager)):
            off.append(differences(everything(autocast(unroll), *in_float32(built, x, start)), exact))
    for name in of_fused[0]:
        fused, eager = (median(off[name] for off in networks) for networks in (of_fused, of_eager))
        assert fused < max(2e-2, 1.5 * eager), (name, fused, eager)


@design
def test_autocast_rounds_factors_and_not_their_products(of: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One step without inputs equals the reference in float32 with factors rounded before."""
    choose_design(monkeypatch, of)
    built = cell_of("lstm", "none", {}, inputs=3, hidden=20)
    built, x, start = in_float32(built, *drawn(built, steps=1, batch=4))
    x = torch.zeros_like(x)
    with torch.no_grad():
        exact = recurrent.unroll(built, x, start).y
        with torch.autocast("cpu", torch.bfloat16):
            found = fused_unroll(built, x, start).y
        built.weight_hh.copy_(built.weight_hh.bfloat16())
        expected = recurrent.unroll(built, x, start._replace(h=start.h.bfloat16().float())).y
    assert relative(found, expected) < 1e-5
    assert relative(exact, expected) > 1e-4


@pytest.mark.parametrize("term", [None, 1.0], ids=["alone", "with a term"])
def test_products_of_rounded_factors_are_summed_in_float32(term: float | None) -> None:
    factor, weight = torch.full((1, 512), 1 + 2**-10), torch.full((512, 1), 1.0).bfloat16()
    weight[0] = 2**-7
    result = torch.zeros(1, 1)
    steps._multiply(factor, weight, None if term is None else torch.full((1, 1), term), result)
    assert result.item() == 511 + 2**-7 + (term or 0)  # it would be 512 in bfloat16


@of_batch_norm
def test_evaluation_by_the_population_works_under_autocast(cell: str, method: str, options: dict[str, Any]) -> None:
    built = cell_of(cell, method, options, inputs=3, hidden=20)
    x, start = drawn(built, steps=3, batch=20)
    know_a_population(built.eval(), steps=3)
    for norm in batch_norms(built).values():
        norm.running_var += 0.5  # smaller variances would magnify rounding
    with torch.no_grad():
        exact = recurrent.unroll(built, x, start).y
        built, x, start = in_float32(built, x, start)
        with torch.autocast("cpu", torch.bfloat16):
            found, eager = (unroll(built, x, start).y for unroll in (fused_unroll, recurrent.unroll))
    assert found.dtype == torch.float32
    assert 1e-4 < relative(found, exact) < max(2e-2, relative(eager, exact))


@design
def test_feature_that_varies_only_by_bfloat16_rounding_is_taken_for_constant(
    of: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows of h differ by the last place of bfloat16."""
    choose_design(monkeypatch, of)
    built = cell_of("rnn", "recurrent_batch_norm", {"sites": ["recurrent"]}, inputs=2, hidden=4)
    built, x, start = in_float32(built, *drawn(built, steps=1, batch=3))
    with torch.no_grad():
        built.weight_hh.copy_(torch.eye(4))
    h = torch.ones(3, 4)
    h[1] += 2**-7
    h[2, 0] += 2**-5
    with torch.autocast("cpu", torch.bfloat16):
        moments = fused_unroll(built, x, type(start)(h)).moments["norm_h"]
    assert moments[1, 0, 0] > 0
    assert not moments[1, 0, 1:].any()


def test_statistics_are_saved_through_autograd() -> None:
    built = cell_of("lstm", "recurrent_batch_norm", {}, inputs=2, hidden=5).float()
    x, start = drawn(built, steps=3, batch=4)
    kept = set()

    def note(tensor: torch.Tensor) -> torch.Tensor:
        kept.add(tuple(tensor.shape))
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        fused_unroll(built, x, start)
    assert {(3, 3, 4, 5), (3, 3, 1, 5)} <= kept, "of the sums and of the cell: (T, 3, G, H)"


def test_sums_of_all_steps_are_kept_for_gradients_only(monkeypatch: pytest.MonkeyPatch) -> None:
    door = importlib.import_module("normcore.kernels.gpu.unroll")
    operator, kept = door.term_recurrence, []

    def note(*given: Any, **named: Any) -> Any:
        results = operator(*given, **named)
        kept.append(len(results[4]))
        return results

    monkeypatch.setattr(door, "term_recurrence", note)
    built = cell_of("lstm", "layer_norm", {}, inputs=2, hidden=5).float()
    x, start = drawn(built, steps=3, batch=4)
    fused_unroll(built, x, start)
    with torch.no_grad():
        fused_unroll(built, x, start)
    assert kept == [3, 1]


@pytest.mark.parametrize(
    ("cell", "method", "batch", "hidden", "precision", "expected"),
    [
        ("rnn", "layer_norm", 65, 64, "float32", "sequence"),
        ("rnn", "layer_norm", 2, 128, "float32", "sequence"),
        ("rnn", "layer_norm", 2, 129, "float32", "steps"),
        ("gru", "layer_norm", 2, 64, "float32", "sequence"),
        ("gru", "layer_norm", 2, 65, "float32", "steps"),
        ("lstm", "layer_norm", 2, 64, "float32", "sequence"),
        ("lstm", "layer_norm", 2, 65, "float32", "steps"),
        ("rnn", "recurrent_batch_norm", 64, 64, "float32", "sequence"),
        ("rnn", "recurrent_batch_norm", 65, 5, "float32", "steps"),
        ("rnn", "recurrent_batch_norm", 2, 65, "float32", "steps"),
        ("lstm", "layer_norm", 65, 128, "bfloat16", "sequence"),
        ("lstm", "layer_norm", 2, 129, "bfloat16", "steps"),
        ("gru", "rms_norm", 2, 128, "bfloat16", "sequence"),
        ("gru", "rms_norm", 2, 129, "bfloat16", "steps"),
        ("rnn", "none", 2, 256, "bfloat16", "sequence"),
        ("rnn", "none", 2, 257, "bfloat16", "steps"),
        ("lstm", "recurrent_batch_norm", 32, 64, "bfloat16", "sequence"),
        ("rnn", "recurrent_batch_norm", 64, 64, "bfloat16", "sequence"),
        ("rnn", "recurrent_batch_norm", 65, 5, "bfloat16", "steps"),
        ("lstm", "recurrent_batch_norm", 33, 5, "bfloat16", "steps"),
        ("lstm", "recurrent_batch_norm", 2, 65, "bfloat16", "steps"),
    ],
)
def test_single_kernel_runs_all_steps_if_the_recurrent_weights_fit_on_the_chip(
    cell: str, method: str, batch: int, hidden: int, precision: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    launched: list[str] = []
    for design in (sequence, steps):
        for pass_ in ("forward", "backward"):
            monkeypatch.setattr(design, pass_, noting(launched, design, pass_))
    built = cell_of(cell, method, {}, inputs=2, hidden=hidden).float()
    with torch.autocast("cpu", torch.bfloat16, enabled=precision == "bfloat16"):
        everything(fused_unroll, built, *drawn(built, steps=2, batch=batch))
    assert launched == [f"{expected}.forward", f"{expected}.backward"]


@pytest.mark.parametrize(("hidden", "kib", "expected"), [(65, 80, True), (65, 79, False), (64, 79, True)])
def test_size_that_fits_on_the_chip_depends_on_the_device(hidden: int, kib: int, expected: bool) -> None:
    nowhere = SitePlan(NormKind.NONE, 0.0, None)
    memory = kib * 1024
    plan = Plan(1, nowhere, nowhere, False, False, False, torch.float32, mask=None, memory=memory)
    assert plan.fits_on_chip(2, hidden) == expected


def noting(launched: list[str], design: Any, pass_: str) -> Any:
    """Wrap a pass of a design so that it notes its name in ``launched``."""
    run = getattr(design, pass_)

    def noted(*of: Any) -> None:
        launched.append(f"{design.__name__.rpartition('.')[2]}.{pass_}")
        run(*of)

    return noted
