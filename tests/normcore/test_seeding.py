"""The random numbers of a run depend on its seed only, and a run leaves the generators unchanged."""

import pytest
import torch

from normcore.seeding import derived_seed, deterministic, reproducible

CPU = torch.device("cpu")


def test_state_is_restored_after_the_context() -> None:
    threads = torch.get_num_threads()
    before = torch.get_rng_state()
    with reproducible(0, CPU, threads + 1):
        assert torch.are_deterministic_algorithms_enabled()
        assert torch.get_num_threads() == threads + 1
        torch.rand(3)
    assert not torch.are_deterministic_algorithms_enabled()
    assert torch.get_num_threads() == threads
    assert torch.equal(torch.get_rng_state(), before)


def test_subnormal_numbers_are_flushed_to_0_only_inside_the_context() -> None:
    vanished = torch.full((1000,), 1e-20)
    with reproducible(0, CPU, 1):
        assert (vanished * vanished == 0).all()
    assert (vanished * vanished > 0).all()


def test_new_memory_is_left_unfilled_only_inside_the_context() -> None:
    """Deterministic algorithms would otherwise fill new memory with NaN, which takes time."""
    before = deterministic.fill_uninitialized_memory
    with reproducible(0, CPU, 1):
        assert not deterministic.fill_uninitialized_memory
    assert deterministic.fill_uninitialized_memory == before is True


def test_the_seed_decides_all_numbers() -> None:
    drawn = []
    for seed in (0, 0, 1):
        torch.rand(7)
        with reproducible(seed, CPU, 1):
            drawn.append(torch.rand(3).tolist())
    assert drawn[0] == drawn[1] != drawn[2]


def test_state_is_restored_after_an_exception() -> None:
    before = torch.get_rng_state()
    with pytest.raises(ZeroDivisionError), reproducible(0, CPU, 1):
        raise ZeroDivisionError
    assert torch.equal(torch.get_rng_state(), before)
    assert not torch.are_deterministic_algorithms_enabled()


def test_purposes_have_seeds_of_their_own() -> None:
    assert len({derived_seed(seed, purpose) for seed in range(10) for purpose in ("model", "order")}) == 20
