"""Every section can be measured: its specs are valid, and every name in the section exists."""

import re

import pytest

from benchmarks.reproductions.sections import SPECS, Section, sections
from normcore.figures.figure import PALETTE
from normcore.problem import own_budget
from normcore.spec import TASKS, TrainingSpec
from normcore.spec.analyses.analysis import TrainedAnalysis

SECTIONS = sections()


def test_a_section_draws_at_most_as_many_curves_as_there_are_colours() -> None:
    names = [f"spec{k}" for k in range(len(PALETTE) + 1)]
    written = {"title": "t", "specs": "s", "claims": "c", "differs": "d"}
    assert len(Section.model_validate({**written, "draws": names[:-1]}).draws) == len(PALETTE)
    with pytest.raises(ValueError, match="draws"):
        Section.model_validate({**written, "draws": names})


def test_every_folder_of_specs_is_a_section_and_every_section_a_folder() -> None:
    assert sorted(section.specs for section in SECTIONS) == sorted(f.name for f in SPECS.iterdir() if f.is_dir())


@pytest.mark.parametrize("section", SECTIONS, ids=[section.specs for section in SECTIONS])
def test_every_name_in_a_section_exists(section: Section) -> None:
    specs = section.resolved()
    trainings = [spec for spec in specs.values() if isinstance(spec, TrainingSpec)]
    assert len(trainings) in (0, len(specs)), "a section trains or analyses"
    assert len({spec.task.profile for spec in specs.values()}) == 1
    for order in section.orders:
        assert set(order.best_first) <= specs.keys()
        assert order.by in ("", "steps_to_target", section.shows)
    assert {*section.draws, *(sample.spec for sample in section.samples)} <= specs.keys()
    for citation in section.published:
        assert citation.results()
    for task in section.looks_into:
        assert issubclass(TASKS[task], TrainedAnalysis)


@pytest.mark.parametrize("section", SECTIONS, ids=[section.specs for section in SECTIONS])
def test_trainings_of_a_section_share_a_board_keep_its_budget_and_have_3_seeds(section: Section) -> None:
    trainings = [spec for spec in section.resolved().values() if isinstance(spec, TrainingSpec)]
    assert len({(spec.task.name, str(spec.task.canonical())) for spec in trainings}) <= 1
    for spec in trainings:
        assert spec.budget <= own_budget(spec.task.name, spec.task.profile)
        assert len(spec.seeds) >= 3


@pytest.mark.parametrize(
    ("folder", "which"),
    [
        ("rbn_table_1_permuted_mnist", 0),
        ("rbn_table_1_sequential_digits", 0),
        ("rbn_table_1_sequential_mnist", 0),
        ("rbn_table_1_permuted_digits", 0),
        ("rbn_table_2_penn_treebank", 0),
        ("ln_figure_6_batch_128", 0),
        ("ln_figure_6_batch_4", 1),
        ("ln_section_6_7_convnet", 0),
    ],
)
def test_the_order_that_a_profile_promises_is_held_against_every_seed(folder: str, which: int) -> None:
    [section] = [section for section in SECTIONS if section.specs == folder]
    [order] = [order for order in section.orders if order.source == "profile `small`"]
    task = next(iter(section.resolved().values())).task
    promised = re.findall(r"seen[^:.]*: ((?:\w+, )+\w+)\.", task.profiles["small"].description)
    assert promised[which].split(", ") == list(order.best_first)
    assert not order.by
    assert order.after_looking, "the profile says in which seeds it was seen"
