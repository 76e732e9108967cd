"""Reuse: runs that this code has measured on the same kind of device are counted, and not run again."""

from typing import Any

import pytest

from normcore.code_version import code_version
from normcore.events import Started
from normcore.own_code import parts_of
from normcore.spec import TrainingSpec, resolve
from normcore.training.loop import train
from service.db import Database
from service.experiments import lifecycle
from service.sweeps.reuse import versions_of
from tests.service.sample_runs import MAX_STEPS, claimed, submitted
from tests.service.sweeps.sample_sweeps import CODE, SPEC, posted, run_all, runs_of, shown, stored

SEEDS = {**SPEC, "seeds": [0, 1, 2]}


def measured(db: Database, *seeds: int, **about: Any) -> str:
    """The id of an experiment of layer_norm that has ended."""
    experiment = submitted(db, "layer_norm", seeds=seeds)
    run_all(db, lambda spec, seed: 0.5, **about)
    return experiment.id


def test_seeds_that_are_measured_are_counted_and_only_the_others_are_run(db: Database) -> None:
    measured(db, 0, 2)
    sweep_id = stored(db, posted(spec=SEEDS))
    sweep = shown(db, sweep_id)
    assert (sweep.n_experiments, sweep.n_runs, sweep.reused_runs) == (2, 6, 2)
    assert (sweep.progress.done, sweep.progress.total) == (2, 6)
    assert sorted((method, seed) for method, seed, _ in runs_of(db, sweep_id)) == [
        ("layer_norm", 1),
        ("none", 0),
        ("none", 1),
        ("none", 2),
    ]
    assert [(cell.seeds, cell.reused_runs, cell.state) for cell in sweep.cells] == [
        ([0, 1, 2], 0, "queued"),
        ([0, 1, 2], 2, "queued"),
    ]


def test_a_cell_that_is_measured_whole_names_the_experiment_that_measured_it(db: Database) -> None:
    experiment_id = measured(db, 0, 1, 2)
    sweep = shown(db, stored(db, posted({"norm.method": ["layer_norm"]}, spec=SEEDS)))
    assert (sweep.state, sweep.reused_runs) == ("succeeded", 3)
    assert [(cell.experiment_id, cell.state) for cell in sweep.cells] == [(experiment_id, "succeeded")]
    assert sweep.cells[0].entry is not None
    assert sweep.cells[0].entry.n_runs == 3


@pytest.mark.parametrize(
    ("about", "device"),
    [
        ({"environment": {**CODE, "git": "b" * 40}}, "auto"),
        ({"environment": {**CODE, "normbench": "0.0.1"}}, "auto"),
        ({"environment": {**CODE, "method": "a package 1.0"}}, "auto"),
        ({"device": "cuda:0"}, "cpu"),
    ],
)
def test_runs_of_other_code_or_another_kind_of_device_do_not_count(db: Database, about: Any, device: str) -> None:
    measured(db, 0, **about)
    sweep_id = stored(db, posted(spec={**SPEC, "device": device}))
    assert shown(db, sweep_id).reused_runs == 0
    assert len(runs_of(db, sweep_id)) == 2


PARTS = parts_of(resolve({**SPEC, "norm": {"method": "layer_norm"}}))


@pytest.mark.parametrize(("parts", "reused"), [(PARTS, 1), ({**PARTS, "norm": "0" * 64}, 0)])
def test_a_run_with_digests_of_its_code_counts_by_these_alone(db: Database, parts: dict[str, str], reused: int) -> None:
    """Neither another commit nor another version of a package says that the spec's own parts differ."""
    told = {"version": "0.0.1", "commit": "b" * 40, "dirty": True, "parts": parts}
    measured(db, 0, environment={**CODE, "git": f"{'b' * 40}-dirty", "normbench": "0.0.1", "code": told})
    assert shown(db, stored(db, posted())).reused_runs == reused


def test_a_run_of_other_code_shows_that_the_spec_was_edited(db: Database) -> None:
    measured(db, 0)
    told = {"version": "0.1.0", "commit": None, "dirty": None, "parts": {**PARTS, "norm": "0" * 64}}
    measured(db, 1, environment={**CODE, "code": told})
    assert shown(db, stored(db, posted())).reused_runs == 0


@pytest.mark.parametrize("device", ["auto", "cuda"])
def test_a_numbered_device_counts_as_its_kind_of_device(db: Database, device: str) -> None:
    measured(db, 0, device="cuda:0")
    assert shown(db, stored(db, posted(spec={**SPEC, "device": device}))).reused_runs == 1


def test_runs_that_have_not_succeeded_do_not_count(db: Database) -> None:
    submitted(db, "layer_norm", seeds=[0, 1])
    lease = claimed(db).lease
    with db.transaction() as session:
        started = Started(0, MAX_STEPS, "reference", 1, CODE)
        lifecycle.start(session, lease, started, device="cpu", resumed_from=None)
    assert shown(db, stored(db, posted(spec=SEEDS))).reused_runs == 0


def test_measured_seeds_are_run_again_without_reuse(db: Database) -> None:
    measured(db, 0)
    sweep_id = stored(db, posted(reuse=False))
    assert shown(db, sweep_id).reused_runs == 0
    assert len(runs_of(db, sweep_id)) == 2


def test_a_run_of_this_code_says_so_in_its_environment() -> None:
    spec = resolve({**SPEC, "norm": {"method": "layer_norm"}})
    assert isinstance(spec, TrainingSpec)
    started = next(iter(train(spec, seed=0, device="cpu")))
    assert isinstance(started, Started)
    assert {name: started.environment[name] for name in CODE} == CODE == versions_of(spec, code_version())
