"""The learning rate falls as the spec says, and Adam takes the steps that follow from it."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from normcore.spec.optimizers.adam import Adam
from normcore.spec.training import LinearDecay, Training
from normcore.training import optimizers
from normcore.training.schedules import follow


def training(max_steps: int = 10, schedule: LinearDecay | None = None, **optimizer: Any) -> Training:
    return Training(
        optimizer=Adam(lr=0.5, **optimizer),
        schedule=schedule,
        batch_size=1,
        max_steps=max_steps,
        clip_norm=None,
        eval_every=1,
        target=None,
    )


def rates(options: Training) -> list[tuple[float, float]]:
    """Return the learning rate and beta1 of every update."""
    optimizer = optimizers.build(options.optimizer, [nn.Parameter(torch.zeros(1))])
    seen = []
    for step in range(options.max_steps):
        follow(options, optimizer, step)
        [group] = optimizer.param_groups
        seen.append((group["lr"], group["beta1"]))
    return seen


def test_without_a_schedule_nothing_changes() -> None:
    assert rates(training()) == [(0.5, 0.9)] * 10


def test_the_rate_stays_and_then_falls_in_equal_parts() -> None:
    """The last update has one part of the rate; a further update would have a rate of 0."""
    seen = rates(training(10, LinearDecay(start=6)))
    assert [beta1 for _, beta1 in seen] == [0.9] * 10
    expected = [0.5] * 6 + [0.5, 0.375, 0.25, 0.125]
    assert [lr for lr, _ in seen] == pytest.approx(expected, rel=1e-12)


def test_beta1_changes_where_the_rate_begins_to_fall() -> None:
    seen = rates(training(10, LinearDecay(start=6, beta1=0.5)))
    assert [beta1 for _, beta1 in seen] == [0.9] * 6 + [0.5] * 4


def test_the_paper_s_schedule_halves_the_rate_after_three_quarters() -> None:
    """Salimans and Kingma 2016: 200 epochs, and from epoch 100 on a linear decay to 0."""
    options = training(90_000, LinearDecay(start=45_000, beta1=0.5))
    optimizer = optimizers.build(options.optimizer, [nn.Parameter(torch.zeros(1))])
    for step, lr in ((0, 0.5), (44_999, 0.5), (45_000, 0.5), (67_500, 0.25), (89_999, 0.5 / 45_000)):
        follow(options, optimizer, step)
        assert optimizer.param_groups[0]["lr"] == pytest.approx(lr, rel=1e-12)


@pytest.mark.parametrize("start", [0, 10, 20])
def test_decay_may_start_at_the_first_and_the_last_update(start: int) -> None:
    seen = [lr for lr, _ in rates(training(10, LinearDecay(start=start)))]
    falling = [0.5 * (10 - step) / 10 for step in range(10)]
    assert seen == pytest.approx(falling if start == 0 else [0.5] * 10, rel=1e-12)


def test_adam_with_linear_decay_takes_the_steps_computed_by_hand() -> None:
    options = training(8, LinearDecay(start=3, beta1=0.5), beta2=0.99, eps=1e-4)
    parameter = nn.Parameter(torch.tensor([1.0, -2.0], dtype=torch.float64))
    optimizer = optimizers.build(options.optimizer, [parameter])
    gradients = np.random.default_rng(0).normal(size=(8, 2))

    p, m, v = np.array([1.0, -2.0]), np.zeros(2), np.zeros(2)
    for step, g in enumerate(gradients):
        parameter.grad = torch.from_numpy(g.copy())
        follow(options, optimizer, step)
        optimizer.step()

        t, beta1, lr = step + 1, 0.9 if step < 3 else 0.5, 0.5 if step < 3 else 0.5 * (8 - step) / 5
        m = beta1 * m + (1 - beta1) * g
        v = 0.99 * v + 0.01 * g**2
        p = p - lr / (1 - beta1**t) * m / (np.sqrt(v) / math.sqrt(1 - 0.99**t) + 1e-4)
        np.testing.assert_allclose(parameter.detach().numpy(), p, rtol=1e-12)
