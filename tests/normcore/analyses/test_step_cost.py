"""Cost of a training step: statistics, order of the networks, and their differences. No test depends on times."""

import copy
import math

import numpy as np
import pytest
import torch

from normcore.analyses.step_cost import (
    WARM_UP_PAIRS,
    StepCost,
    cost_of_pairs,
    kept_bytes,
    median_interval,
    network,
    step_cost,
    time_pairs,
    training_step,
)
from normcore.clock import Clock
from normcore.spec.cells import CELLS
from normcore.spec.cells.gru import GRU
from normcore.spec.methods import METHODS
from normcore.spec.methods.batch_norm import BatchNorm
from normcore.spec.methods.layer_norm import LayerNorm
from normcore.spec.methods.none import NoNorm
from tests.normcore.networks import recurrent

CPU = torch.device("cpu")
RECURRENT_METHODS = [tag for tag, method in METHODS.items() if any(map(method.fits, CELLS.values()))]


def coverage(n: int, rank: int) -> float:
    """Probability that the median lies between the rank-th smallest and the rank-th largest of n samples."""
    return 1 - 2 * sum(math.comb(n, below) for below in range(rank)) / 2.0**n


@pytest.mark.parametrize("n", range(6, 130))
def test_the_interval_is_the_narrowest_pair_of_ranks_that_covers_95_percent(n: int) -> None:
    samples = [float(sample) for sample in np.random.RandomState(n).permutation(n) + 1]
    lower, upper = median_interval(samples)
    assert lower + upper == n + 1
    assert coverage(n, int(lower)) >= 0.95 > coverage(n, int(lower) + 1)


def test_interval_of_10_samples_omits_1_on_each_side_and_of_20_omits_5() -> None:
    """The coverage is 1 - 2 (1 + 10) / 2^10 = 97.9 percent, and 95.9 percent."""
    assert median_interval(range(1, 11)) == (2, 9)
    assert median_interval(range(1, 21)) == (6, 15)


def test_interval_of_skewed_samples_covers_the_median_as_often_as_stated() -> None:
    """The test draws 45 log-normal samples 4,000 times. Theory gives 96.4 percent; four standard errors are 1.2."""
    samples = np.random.RandomState(0).lognormal(0, 2, (4000, 45))
    bounds = np.array([median_interval(some) for some in samples.tolist()])
    held = ((bounds[:, 0] < 1) & (bounds[:, 1] > 1)).mean()
    assert held == pytest.approx(coverage(45, 16), abs=0.012)


def test_interval_of_five_samples_is_refused() -> None:
    with pytest.raises(ValueError, match="expected 6 or more samples, received 5"):
        median_interval([1.0, 2.0, 3.0, 4.0, 5.0])


def test_medians_and_ratio_are_those_of_the_pairs() -> None:
    """The ratios are 2, 3, 3, 90, 2.5, 2 and 4. One pair was disturbed, which does not change the median."""
    pairs = [(2.0, 1.0), (6.0, 2.0), (3.0, 1.0), (90.0, 1.0), (5.0, 2.0), (4.0, 2.0), (4.0, 1.0)]
    assert cost_of_pairs(pairs) == StepCost(4.0, 1.0, 3.0, (2.0, 90.0))


def test_a_machine_that_is_slow_for_a_while_does_not_change_the_ratio() -> None:
    slowness = [1.0, 1000.0, 2.0, 50.0, 7.0, 300.0, 4.0, 1.0, 10.0]
    cost = cost_of_pairs([(1.5 * slow, slow) for slow in slowness])
    assert cost == StepCost(10.5, 7.0, 1.5, (1.5, 1.5))


def test_ratio_is_within_its_interval_although_the_ratio_of_medians_is_not() -> None:
    """The machine becomes slower halfway, during a pair, so both medians come from different halves."""
    pairs = [(1.5, 1.0)] * 6 + [(1.5, 3.0)] + [(4.5, 3.0)] * 5
    cost = cost_of_pairs(pairs)
    assert cost.seconds / cost.none_seconds == 0.75
    assert (cost.ratio, cost.ratio_ci95) == (1.5, (1.5, 1.5))


class StandingClock(Clock):
    """Clock that moves only when a step moves it."""

    now = 0.0

    def start(self) -> None:
        self.started = self.now

    def stop_when_done(self) -> float:
        return self.now - self.started


def test_steps_alternate_and_the_first_pairs_do_not_count() -> None:
    """The n-th step of the method takes n seconds, and every step without a norm takes 0.25 seconds."""
    clock = StandingClock(CPU)
    calls: list[str] = []

    def step() -> None:
        calls.append("method")
        clock.now += calls.count("method")

    def none_step() -> None:
        calls.append("none")
        clock.now += 0.25

    timed = time_pairs(step, none_step, 7, clock)
    assert calls == ["method", "none"] * (WARM_UP_PAIRS + 7)
    assert timed == [(WARM_UP_PAIRS + n, 0.25) for n in range(1, 8)]


@pytest.mark.parametrize("method", RECURRENT_METHODS)
@pytest.mark.parametrize("cell", CELLS)
def test_networks_differ_only_in_the_norm(method: str, cell: str) -> None:
    """Shared parameters are equal. A parameter of one network only belongs to a norm, or to a parametrized weight."""
    model = CELLS[cell].model_validate({"cell": cell})
    norm = METHODS[method].model_validate({"method": method, **METHODS[method].defaults(CELLS[cell])})
    ours, plain = network(model, norm, 3, CPU), network(model, NoNorm(), 3, CPU)
    for name in ("weight_ih", "weight_hh"):
        torch.testing.assert_close(getattr(ours.cells[0], name), getattr(plain.cells[0], name), rtol=1e-6, atol=1e-8)
    parameters, of_plain = dict(ours.named_parameters()), dict(plain.named_parameters())
    assert "cells.0.bias" in parameters.keys() & of_plain.keys()
    assert all(torch.equal(parameters[name], of_plain[name]) for name in parameters.keys() & of_plain.keys())
    assert all(".norm_" in name or "weight_" in name for name in parameters.keys() ^ of_plain.keys())
    assert (ours.options, ours.input_size, ours.hidden_size, ours.kernel) == (model, 1, 100, "reference")


def test_an_rnn_keeps_its_states_and_a_norm_keeps_more() -> None:
    x = torch.zeros(5, 3, 1)
    plain = network(CELLS["rnn"].model_validate({"cell": "rnn", "hidden_size": 4}), NoNorm(), 0, CPU)
    assert kept_bytes(plain, x) == 5 * 3 * 4 * 4, "a state for each step, case and unit, in float32"
    normed = network(CELLS["rnn"].model_validate({"cell": "rnn", "hidden_size": 4}), LayerNorm(sites=("sum",)), 0, CPU)
    assert kept_bytes(normed, x) > 2 * kept_bytes(plain, x)


def test_a_step_is_forward_backward_and_update() -> None:
    """Two steps of RMSProp are computed by hand: v = 0.9 v + 0.1 g^2, p = p - 0.001 g / max(sqrt(v), 1e-5)."""
    torch.manual_seed(0)
    stepped = recurrent("rnn", 1, 4, norm={"method": "layer_norm"}).double()
    expected = copy.deepcopy(stepped)
    x = torch.randn(5, 3, 1, dtype=torch.float64)
    step = training_step(stepped, x)
    mean_squares = [0.0 * p.detach().numpy() for p in expected.parameters()]
    for _ in range(2):
        step()
        loss = (expected(x)[0][-1] ** 2).sum() / 12
        gradients = [g.numpy() for g in torch.autograd.grad(loss, list(expected.parameters()))]
        mean_squares = [0.9 * v + 0.1 * g**2 for v, g in zip(mean_squares, gradients, strict=True)]
        for p, g, v in zip(expected.parameters(), gradients, mean_squares, strict=True):
            p.data -= torch.from_numpy(0.001 * g / np.maximum(np.sqrt(v), 1e-5))
    for p, q in zip(stepped.parameters(), expected.parameters(), strict=True):
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=1e-10, atol=1e-12)


def test_cost_of_a_model_leaves_the_generator_unchanged() -> None:
    before = torch.get_rng_state()
    cost = step_cost(GRU(hidden_size=3), LayerNorm(sites=("input",)), 4, 2, 0, CPU, pairs=6)
    assert torch.equal(torch.get_rng_state(), before)
    assert 0 < cost.ratio_ci95[0] <= cost.ratio <= cost.ratio_ci95[1]


def test_norm_that_does_not_fit_the_cell_is_refused() -> None:
    with pytest.raises(ValueError, match=r"norm\.method: batch_norm has no place in gru"):
        step_cost(GRU(), BatchNorm(), 4, 2, 0, CPU)
