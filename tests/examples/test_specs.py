"""Ready-made specs are valid, and each belongs to the board that it is meant for."""

import re
from pathlib import Path
from typing import cast

import pytest

from normcore.papers import find_published_results, papers
from normcore.problem import own_budget, own_problem, problem_of
from normcore.spec import TrainingSpec, read_spec, resolve
from normcore.spec.tasks.benchmark import Benchmark

READERS = {
    "rbn_reader_lstm": "LSTM",
    "rbn_reader_bn_lstm": "BN-LSTM",
    "rbn_reader_bn_everywhere": "BN-everywhere",
    "rbn_reader_bn_e_star": "BN-e*",
    "rbn_reader_bn_e_star_star": "BN-e**",
}
WITHOUT_NUMBERS = {
    *(("feedforward", method) for method in ("layer_norm", "batch_norm")),
    *(("convnet", method) for method in ("none", "layer_norm", "batch_norm")),
    *(("handwriting", method) for method in ("none", "layer_norm")),
    ("attentive_reader", "layer_norm"),
}
"""Trainings of LN that have no number in its text: task and method."""
OF_LN = {
    "ln_reader": "attentive_reader",
    "ln_order_embedding": "order_embedding",
    "ln_skip_thoughts": "skip_thoughts",
    "ln_skip_thoughts_long": "skip_thoughts",
    "ln_draw": "draw",
    "ln_handwriting": "handwriting",
}
FOLDER = Path(__file__).parents[2] / "examples" / "specs"
NAMES = {path.stem for path in FOLDER.glob("*.yaml")}


def spec_of(name: str) -> TrainingSpec:
    return cast(TrainingSpec, resolve(read_spec(FOLDER / f"{name}.yaml")))


def test_list_names_exactly_the_existing_files() -> None:
    text = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert NAMES
    assert {name for name in NAMES if re.search(rf"^\|.*`{name}\.yaml`.*\|.*\|$", text, re.MULTILINE)} == NAMES


def test_every_system_of_the_papers_has_a_spec() -> None:
    specs = [spec_of(name) for name in NAMES]
    there = {(spec.task.name, problem_of(spec.task).id, spec.norm.method) for spec in specs}
    for result in (result for paper in papers() for result in paper.results):
        if result.origin is None:
            named = resolve({"task": {"name": result.task, "profile": "paper", **result.options}})
            assert (result.task, problem_of(cast(Benchmark, named.task)).id, result.method) in there, result
    assert {(spec.task.name, spec.norm.method) for spec in specs} >= WITHOUT_NUMBERS


@pytest.mark.parametrize("name", sorted(name for name in NAMES if name.endswith(("_baseline", "_lstm"))))
def test_baseline_differs_from_its_spec_only_in_the_norm(name: str) -> None:
    other = name.removesuffix("_baseline") if name.endswith("_baseline") else name.replace("_bn_", "_")
    assert spec_of(name).model_copy(update={"norm": spec_of(other).norm}) == spec_of(other)


def test_text8_is_the_problem_of_rbns_table_3() -> None:
    table_3 = next(result for result in find_published_results("char_lm") if result.citation == "RBN, Table 3")
    named = resolve({"task": {"name": "char_lm", "profile": "paper", **table_3.options}})
    spec = spec_of("rbn_text8_bn_lstm")
    assert problem_of(spec.task) == problem_of(cast(Benchmark, named.task))
    assert (spec.training.batch_size, spec.training.eval_every, spec.training.clip_norm) == (128, 500, 1.0)
    assert spec.training.max_steps == 50 * 3907
    assert spec.training.optimizer.lr == 1e-3


@pytest.mark.parametrize("name", ["ln_feedforward_batch_4_batch_norm", "ln_feedforward_batch_norm_hidden_only"])
def test_variants_of_ln_6_6_are_on_the_board_of_the_paper(name: str) -> None:
    spec = spec_of(name)
    assert problem_of(spec.task) == own_problem("feedforward", "paper")
    assert spec.budget <= own_budget("feedforward", "paper")
    assert spec.norm.method == "batch_norm"


def test_small_batch_specs_keep_the_epochs_and_use_unbiased_variance_at_all_layers() -> None:
    spec = spec_of("ln_feedforward_batch_4_batch_norm")
    assert spec.training.max_steps * 4 == 60 * 55_000
    assert spec.norm.model_dump(include={"variance", "sites"}) == {"variance": "unbiased", "sites": ("layer", "output")}
    assert spec_of("ln_feedforward_batch_norm_hidden_only").norm.model_dump()["sites"] == ("layer",)


@pytest.mark.parametrize(("name", "model"), READERS.items())
def test_readers_of_rbn_5_4_share_a_board_with_their_published_numbers(name: str, model: str) -> None:
    """Each file quotes the number as printed in section 5.4."""
    [result] = [r for r in find_published_results("attentive_reader") if (r.where, r.model) == ("section 5.4", model)]
    spec = spec_of(name)
    assert problem_of(spec.task) == own_problem("attentive_reader", "paper")
    assert spec.norm.method == result.method
    assert f"{100 * result.values['error_rate']:.1f} %" in (FOLDER / f"{name}.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize(("name", "model"), [("lstm", "LSTM"), ("bn_e_star_star", "BN-e**")])
def test_readers_of_whole_texts_are_on_the_board_of_table_4_of_rbn(name: str, model: str) -> None:
    [valid, test] = [r for r in find_published_results("attentive_reader") if (r.where, r.model) == ("Table 4", model)]
    spec, text = spec_of(f"rbn_reader_full_{name}"), (FOLDER / f"rbn_reader_full_{name}.yaml").read_text("utf-8")
    named = resolve({"task": {"name": "attentive_reader", "profile": "paper", **test.options}})
    assert problem_of(spec.task) == problem_of(cast(Benchmark, named.task))
    assert f"{100 * valid.values['error_rate']:.1f} % wrong in validation" in text
    assert f"{100 * test.values['error_rate']:.1f} % in the test" in text
    assert spec.model.model_dump()["hidden_size"] == 120


def test_layer_norm_in_the_reader_has_both_initial_scales_that_the_paper_tried() -> None:
    tried = {name: spec_of(name) for name in ("ln_reader", "ln_reader_gain_0.1")}
    assert [spec.norm.model_dump()["gain_init"] for spec in tried.values()] == [1.0, 0.1]
    assert len({spec.fingerprint_and_setting()[1] for spec in tried.values()}) == 1, "they differ in that alone"


def test_readers_differ_in_norm_statistics_and_reading() -> None:
    lstm, bn, everywhere, star, star_star = (spec_of(name) for name in READERS)
    assert (lstm.norm.method, bn.norm.method) == ("none", "recurrent_batch_norm")
    assert everywhere.norm == bn.norm.model_copy(update={"sites": (*bn.norm.model_dump()["sites"], "layer")})
    assert star.norm == everywhere.norm.model_copy(update={"input_statistics": "sequence"}) == star_star.norm
    assert bn.model == everywhere.model == lstm.model
    assert star.model == lstm.model.model_copy(update={"padding": "cyclic"})
    assert star_star.model == star.model.model_copy(update={"bidirectional": True})
    assert [(s.training.optimizer.lr, s.training.batch_size) for s in (lstm, bn, everywhere, star, star_star)] == [
        *[(8e-5, 64)] * 3,
        *[(8e-4, 40)] * 2,
    ]


@pytest.mark.parametrize(("name", "task"), OF_LN.items())
def test_specs_of_ln_are_on_the_board_of_their_task(name: str, task: str) -> None:
    spec = spec_of(name)
    assert problem_of(spec.task) == own_problem(task, "paper")
    assert spec.norm.method == "layer_norm"
    updates = 1_700_000 if name.endswith("long") else own_budget(task, "paper") // spec.training.batch_size
    assert spec.training.max_steps == updates
