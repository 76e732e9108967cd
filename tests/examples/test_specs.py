"""The ready-made specs: each is valid, and stands on the board that it is for."""

from pathlib import Path
from typing import cast

import pytest

from normcore.problem import own_budget, own_problem, problem_of
from normcore.published import published
from normcore.spec import TrainingSpec, read_spec, resolve
from normcore.spec.tasks.benchmark import Benchmark

FOLDER = Path(__file__).parents[2] / "examples" / "specs"
NAMES = {path.stem for path in FOLDER.glob("*.yaml")}


def spec_of(name: str) -> TrainingSpec:
    return cast(TrainingSpec, resolve(read_spec(FOLDER / f"{name}.yaml")))


def test_the_list_is_of_the_files_there_are() -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert NAMES
    assert {name for name in NAMES if f"| `{name}.yaml` |" in text} == NAMES


def test_text8_is_the_problem_of_rbns_table_3() -> None:
    table_3 = next(result for result in published("char_lm") if result.citation == "RBN, Table 3")
    named = resolve({"task": {"name": "char_lm", "profile": "paper", **table_3.options}})
    spec = spec_of("rbn_text8")
    assert problem_of(spec.task) == problem_of(cast(Benchmark, named.task))
    assert (spec.training.batch_size, spec.training.eval_every, spec.training.clip_norm) == (128, 500, 1.0)
    assert spec.training.max_steps == 50 * 3907
    assert spec.training.optimizer.lr == 1e-3


@pytest.mark.parametrize("name", ["ln_feedforward_batch_4", "ln_batch_norm_hidden_only"])
def test_the_variants_of_ln_6_6_stand_on_the_papers_board(name: str) -> None:
    spec = spec_of(name)
    assert problem_of(spec.task) == own_problem("feedforward", "paper")
    assert spec.budget <= own_budget("feedforward", "paper")
    assert spec.norm.method == "batch_norm"


def test_small_batches_see_as_many_epochs_with_the_unbiased_variance_at_all_layers() -> None:
    spec = spec_of("ln_feedforward_batch_4")
    assert spec.training.max_steps * 4 == 60 * 55_000
    assert spec.norm.model_dump(include={"variance", "sites"}) == {"variance": "unbiased", "sites": ("layer", "output")}
    assert spec_of("ln_batch_norm_hidden_only").norm.model_dump()["sites"] == ("layer",)
