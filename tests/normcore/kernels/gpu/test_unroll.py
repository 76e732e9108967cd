"""Triton's kernels, by its interpreter on the CPU."""

from typing import Any

import pytest

from tests.normcore.kernels.compared import EXACT, cell_of, drawn, everything, of_both, some_mask
from tests.normcore.kernels.twin import Twin, case, default

pytest.importorskip("triton", reason="needs triton: pip install '.[gpu]'")
from normcore.kernels import gpu
from normcore.kernels.gpu import plan, sequence, steps


class TestTriton(Twin):
    unroll = staticmethod(gpu.unroll)
    steps, batch, hidden = 3, 5, 5


@case
def test_step_by_step_what_fits_on_a_chip_is_the_same(
    cell: str, method: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "HIDDEN_ON_CHIP", 0)
    built = cell_of(cell, method, options, inputs=3, hidden=5)
    x, start = drawn(built, steps=3, batch=5)
    found = of_both(gpu.unroll, built, x, start, some_mask(3, 5))
    assert max(found.values()) < EXACT, found


@default
@pytest.mark.parametrize("on_chip", [0, plan.HIDDEN_ON_CHIP], ids=["step", "sequence"])
@pytest.mark.parametrize(("batch", "hidden"), [(2, 3), (3, 33), (17, 4), (2, 65)])
def test_tiles_of_any_shape(
    cell: str, method: str, batch: int, hidden: int, on_chip: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plan, "HIDDEN_ON_CHIP", on_chip)
    built = cell_of(cell, method, {}, inputs=2, hidden=hidden)
    x, start = drawn(built, 2, batch)
    found = of_both(gpu.unroll, built, x, start, some_mask(2, batch))
    assert max(found.values()) < 10 * EXACT, found  # batch norm of 2 examples leaves less


def test_where_recurrent_weights_fit_on_the_chip_one_kernel_has_all_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    launched: list[str] = []
    for design in (sequence, steps):
        for pass_ in ("forward", "backward"):
            monkeypatch.setattr(design, pass_, noting(launched, design, pass_))
    for method, batch, hidden, expected in (
        ("layer_norm", 65, 64, "sequence"),
        ("layer_norm", 2, 65, "steps"),
        ("recurrent_batch_norm", 64, 64, "sequence"),
        ("recurrent_batch_norm", 65, 5, "steps"),
        ("recurrent_batch_norm", 2, 65, "steps"),
    ):
        launched.clear()
        built = cell_of("rnn", method, {}, inputs=2, hidden=hidden)
        everything(gpu.unroll, built, *drawn(built, steps=2, batch=batch))
        assert launched == [f"{expected}.forward", f"{expected}.backward"]


def noting(launched: list[str], design: Any, pass_: str) -> Any:
    """A pass that also notes its name."""
    run = getattr(design, pass_)

    def noted(*of: Any) -> None:
        launched.append(f"{design.__name__.rpartition('.')[2]}.{pass_}")
        run(*of)

    return noted
