"""Facts on how runs were computed, told once where all agree."""

from typing import Any

from service.experiments import examples
from service.experiments.schemas import RunOut
from service.pages.facts import facts


def run(seed: int, **environment: Any) -> RunOut:
    return examples.RUN.model_copy(
        update={"seed": seed, "device": "cpu", "kernel": "fused", "environment": environment}
    )


def test_facts_that_all_runs_share_are_told_once_and_others_by_seed() -> None:
    runs = [run(0, torch="2.9", host="a"), run(1, torch="2.9", host="b"), run(2, torch="2.9", host="a", gpu="H100")]
    assert facts(runs) == [
        ("host", [("a", "seeds 0 and 2"), ("b", "seed 1")]),
        ("device", [("cpu", "")]),
        ("gpu", [("H100", "seed 2")]),
        ("kernel", [("fused", "")]),
        ("torch", [("2.9", "")]),
    ]


def test_many_seeds_of_a_fact_are_counted() -> None:
    runs = [run(seed, host="a" if seed < 6 else "b", data={"digits": "0123456789abcdef"}) for seed in range(7)]
    found = dict(facts(runs))
    assert found["host"] == [("a", "6 seeds"), ("b", "seed 6")]
    assert found["data: digits"] == [("0123456789abcdef", "")]


def test_a_run_that_has_not_begun_has_no_facts() -> None:
    assert facts([examples.QUEUED_RUN]) == []
