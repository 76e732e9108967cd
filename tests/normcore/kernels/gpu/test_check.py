"""A check passes right kernels, which run in the interpreter here, and finds errors of wrong kernels."""

from typing import Any

import pytest
import torch

from normcore import recurrent
from normcore.recurrent import UnrolledCell
from normcore.spec.kernels import FUSED_PAIRS

pytest.importorskip("triton", reason="needs triton: pip install '.[gpu]'")
from normcore.kernels.gpu import check
from normcore.kernels.gpu.unroll import unroll as fused_unroll

CPU = torch.device("cpu")
TINY = check.Sizes(steps=2, batch=20, inputs=3)
SMALL: dict[str, Any] = {"hidden": (20,), "exact": TINY, "timed": TINY}
REPEATED: dict[str, Any] = {**SMALL, "timed": check.Sizes(steps=40, batch=20, inputs=3)}


def one_pair_of_each() -> list[tuple[str, str]]:
    """Pairs with each cell and each method once or more. test_unroll has all pairs; here a pair takes half a minute."""
    cells, methods = (list(dict.fromkeys(names)) for names in zip(*FUSED_PAIRS, strict=True))
    return [(cells[k % len(cells)], method) for k, method in enumerate(methods)]


@pytest.mark.parametrize(("cell", "method"), one_pair_of_each())
def test_kernels_in_the_interpreter_are_right_and_slower_than_torch(
    cell: str, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check, "STARTS", 1)  # in the interpreter all starts take equally long
    monkeypatch.setattr(check, "TIMED", 1)
    verdict = check.try_out(cell, method, CPU, fused_unroll, **SMALL)
    assert verdict.wrong is None
    assert verdict.speedup is not None
    assert verdict.speedup < 1
    assert not verdict.passed


def test_smaller_speedup_of_two_sizes_counts() -> None:
    """The pass of 33 units works four times and is slower; the other size is as fast as the reference."""

    def slow_if_large(cell: Any, *arguments: Any) -> UnrolledCell:
        times = 4 if cell.weight_hh.shape[1] == 33 else 1
        for _ in range(times):
            done = recurrent.unroll(cell, *arguments)
        return done

    verdict = check.try_out("rnn", "none", CPU, slow_if_large, **{**REPEATED, "hidden": (20, 33)})
    assert verdict.wrong is None
    assert verdict.speedup is not None
    assert verdict.speedup < 0.8


def scaled(part: str) -> Any:
    """Make a pass of the reference with an error in one of its results."""

    def unroll(*arguments: Any) -> UnrolledCell:
        done = recurrent.unroll(*arguments)
        if part == "outputs":
            return done._replace(y=done.y * 1.05)
        if part == "state":
            return done._replace(end=type(done.end)(*(h * 1.05 for h in done.end)))
        if part == "gradient":
            return done._replace(y=done.y + 0.05 * (done.y - done.y.detach()))
        if part == "moments":
            return done._replace(moments={name: of * 1.05 for name, of in done.moments.items()})
        return done._replace(y=done.y * torch.nan)

    return unroll


@pytest.mark.parametrize(
    ("part", "told"),
    [
        ("outputs", "y has a relative error of 5.0e-02; eager torch has"),
        ("state", "end.h has a relative error of 5.0e-02"),
        ("gradient", "grad of x has a relative error of"),
        ("moments", "moments of norm_x has a relative error of 5.0e-02"),
        ("nothing but NaN", "y has a relative error of inf"),
    ],
)
def test_wrong_result_is_named(part: str, told: str) -> None:
    verdict = check.try_out("lstm", "recurrent_batch_norm", CPU, scaled(part), **SMALL)
    assert not verdict.passed
    assert verdict.wrong is not None
    assert verdict.wrong.startswith("with 20 units in float32, ")
    assert told in verdict.wrong


def test_error_only_with_lengths_or_only_under_autocast_is_found() -> None:
    def forgets_lengths(cell: Any, x: Any, state: Any, t: int, mask: Any) -> UnrolledCell:
        return recurrent.unroll(cell, x, state, t, None)

    def doubles_under_autocast(*arguments: Any) -> UnrolledCell:
        done = recurrent.unroll(*arguments)
        return done._replace(y=done.y * (2 if torch.is_autocast_enabled("cpu") else 1))

    found = [
        check.try_out("gru", "layer_norm", CPU, by, **SMALL).wrong for by in (forgets_lengths, doubles_under_autocast)
    ]
    assert "with lengths" in str(found[0])
    assert str(found[1]).startswith("with 20 units in bfloat16, y has")


def test_error_only_after_some_calls_is_found() -> None:
    """Replays of a graph can fail in this way."""
    calls = 0

    def wears_out(*arguments: Any) -> UnrolledCell:
        nonlocal calls
        calls += 1
        done = recurrent.unroll(*arguments)
        return done._replace(y=done.y * (2 if calls > 2 * check.NETWORKS else 1))

    verdict = check.try_out("rnn", "none", CPU, wears_out, **SMALL)
    assert str(verdict.wrong).startswith("with 20 units in float32, y has")


def test_check_leaves_the_random_generators_unchanged() -> None:
    torch.manual_seed(7)
    expected = torch.rand(1)
    torch.manual_seed(7)
    check.try_out("rnn", "none", CPU, recurrent.unroll, **SMALL)
    assert torch.equal(torch.rand(1), expected)
