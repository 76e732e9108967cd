"""CUDA graphs without CUDA: a fake recording repeats the work on the same tensors."""

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

pytest.importorskip("triton", reason="needs triton: pip install '.[gpu]'")

from normcore import recurrent
from normcore.kernels.gpu import graphs, operator, steps, steps_by_graph
from normcore.kernels.gpu.plan import Plan
from normcore.kernels.gpu.unroll import unroll as fused_unroll
from tests.normcore.kernels.cell_pass import (
    DEFAULTS,
    EXACT,
    cell_of,
    drawn,
    everything,
    know_a_population,
    of_both,
    some_mask,
)


class Recorder:
    """Fake of CUDA's recording that counts recordings and replays."""

    def __init__(self) -> None:
        self.recorded = self.replayed = 0

    def __call__(self, work: Callable[[], None]) -> Callable[[], None]:
        def replay() -> None:
            self.replayed += 1
            work()

        self.recorded += 1
        work()  # like the warm-up of a graph
        return replay


def doubled(reads: graphs.Operands, fills: graphs.Operands) -> None:
    [given], [result] = reads, fills
    assert given is not None
    assert result is not None
    torch.mul(given, 2, out=result)


def run(of: graphs.Graphs, given: Tensor) -> Tensor:
    result = torch.full_like(given, torch.nan)
    of.run("doubled", doubled, [given], [result])
    return result


def test_results_belong_to_each_call_and_survive_the_next_call() -> None:
    recorder = Recorder()
    of = graphs.Graphs(recorder)
    results = [run(of, torch.full((2, 3), float(k))) for k in range(6)]
    assert [result.tolist() for result in results] == [[[2.0 * k] * 3] * 2 for k in range(6)]
    assert (recorder.recorded, recorder.replayed) == (1, 4)


def test_each_shape_has_a_graph_and_the_oldest_graphs_are_dropped() -> None:
    recorder = Recorder()
    of = graphs.Graphs(recorder)
    for size in (2, 3):
        for _ in range(4):
            assert run(of, torch.ones(size)).tolist() == [2.0] * size
    assert recorder.recorded == 2
    for size in range(4, 4 + graphs.KINDS):
        run(of, torch.ones(size))
    assert len(of.kinds) == graphs.KINDS
    run(of, torch.ones(2))
    assert (recorder.recorded, recorder.replayed) == (2, 4)


def test_inputs_are_not_written() -> None:
    of = graphs.Graphs(Recorder())
    given = torch.ones(3)
    for _ in range(5):
        run(of, given)
    assert given._version == 0


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    """Recorder of the graphs that run the kernels of single steps."""
    recorder = Recorder()
    monkeypatch.setattr(steps_by_graph, "GRAPHS", graphs.Graphs(recorder))
    monkeypatch.setattr(Plan, "fits_on_chip", lambda *_: False)
    monkeypatch.setattr(operator, "_design", lambda plan, of: steps_by_graph)
    return recorder


OPTIONS = [
    ("lstm", "layer_norm", {"sites": ["sum", "cell"]}),
    ("lstm", "recurrent_batch_norm", {"carry": "normalized"}),
]


@pytest.mark.parametrize(("cell", "method", "options"), [*DEFAULTS[::2], *OPTIONS])
def test_networks_run_by_graphs_equal_the_reference(
    cell: str, method: str, options: dict[str, Any], recorder: Recorder
) -> None:
    """All calls have the same shape, and different weights and inputs."""
    for seed in range(4):
        built = cell_of(cell, method, options, inputs=3, hidden=5, seed=seed)
        x, start = drawn(built, steps=2, batch=3, seed=seed)
        found = of_both(fused_unroll, built, x, start, some_mask(2, 3))
        assert max(found.values()) < EXACT, found
    assert (recorder.recorded, recorder.replayed) == (2, 4)


def test_graphs_equal_single_steps_under_autocast(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    built = cell_of("lstm", "layer_norm", {}, inputs=3, hidden=5).float()
    x, start = drawn(built, steps=2, batch=2)
    unroll = torch.autocast("cpu", torch.bfloat16)(fused_unroll)
    found = [everything(unroll, built, x, start) for _ in range(4)]
    monkeypatch.setattr(operator, "_design", lambda plan, of: steps)
    expected = everything(unroll, built, x, start)
    for by_graph in found:
        assert all(torch.equal(tensor, expected[name]) for name, tensor in by_graph.items())
    assert recorder.replayed == 4


def test_population_statistics_are_read_at_each_call(recorder: Recorder) -> None:
    for seed in range(5):
        built = cell_of("lstm", "recurrent_batch_norm", {}, inputs=3, hidden=5, seed=seed)
        x, start = drawn(built, steps=2, batch=2, seed=seed)
        know_a_population(built, steps=2)
        built.eval()
        with torch.no_grad():
            found = fused_unroll(built, x, start).y
            torch.testing.assert_close(found, recurrent.unroll(built, x, start).y, rtol=0, atol=EXACT)
    assert recorder.replayed == 3


def test_two_calls_before_backward_keep_their_own_tensors(recorder: Recorder) -> None:
    built = cell_of("lstm", "layer_norm", {}, inputs=3, hidden=5)
    gradients = []
    for unroll in (fused_unroll, recurrent.unroll):
        for _ in range(4):
            built.zero_grad()
            first, start = drawn(built, steps=2, batch=2, seed=1)
            second, _ = drawn(built, steps=2, batch=2, seed=2)
            loss = unroll(built, first, start).y.square().sum() + unroll(built, second, start).y.sum()
            torch.autograd.backward(loss)
        gradients.append([parameter.grad for parameter in built.parameters()])
    for found, expected in zip(*gradients, strict=True):
        torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-12)
    assert recorder.replayed > 4
