"""The page has the database's numbers, compares them with the expectations, and names specs that were not run."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from benchmarks.reproductions import __main__ as program
from benchmarks.reproductions import sections
from benchmarks.reproductions.carryover import FROM_BOTH, FROM_PRINTED, FROM_SEEDS, refresh
from benchmarks.reproductions.earlier import Earlier, earlier
from benchmarks.reproductions.markdown import NOT_RUN
from benchmarks.reproductions.page import NOTHING, at_a_glance, at_full_size, not_measured, page, section_of, seeds_of
from benchmarks.reproductions.sections import Citation, Order, Section
from benchmarks.reproductions.seeds import read as read_seeds
from benchmarks.reproductions.seeds import write as write_seeds
from benchmarks.reproductions.trainings import expectation
from normcore.events import Finding, Started
from service.artifacts import Artifacts
from service.db import Database
from service.experiments import lifecycle
from tests.service.sample_runs import analysed, begun, claimed, finished, measured, recorded, submitted, written

PAGE = Path(__file__).parents[3] / "docs/results/reproductions.md"
SEEDS = PAGE.with_suffix("") / "seeds.json"
NO_ARTIFACTS = Artifacts("memory://")
RBN_TABLE_1 = Citation(task="permuted_mnist", where="Table 1")


@pytest.fixture
def section(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Section:
    """Section of two specs whose order a paper claims, and of a third spec."""
    monkeypatch.setattr(sections, "SPECS", tmp_path)
    methods = {"with_ln": "layer_norm", "without": "none", "another": "rms_norm"}
    write(tmp_path / "some", {name: written(method, seeds=range(3)) for name, method in methods.items()})
    return Section(
        title="Table 9",
        specs="some",
        claims="It is better.",
        differs="Much.",
        shows="valid.loss",
        orders=(
            Order(source="LN", best_first=("with_ln", "without"), by="steps_to_target"),
            Order(source="LN", best_first=("with_ln", "without"), by="valid.loss"),
            Order(source="LN", best_first=("with_ln", "without")),
        ),
        looks_into=("length_generalization",),
    )


def write(folder: Path, specs: Mapping[str, Any]) -> None:
    folder.mkdir()
    for name, spec in specs.items():
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(spec))


def trained(db: Database, method: str, *seeds: tuple[float, int | None, float]) -> list[str]:
    """Store ended runs with these values, steps to the target and last validation losses; return their ids."""
    submitted(db, method, seeds=range(len(seeds)))
    ids = []
    for value, steps, loss in seeds:
        lease = claimed(db).lease
        begun(db, lease)
        recorded(db, lease, measured(20, valid__loss=99), measured(40, valid__loss=loss))
        finished(db, lease, value=value, steps_to_target=steps, train_seconds=90.0)
        ids.append(lease.run_id)
    return ids


def text_of(db: Database, section: Section, artifacts: Artifacts = NO_ARTIFACTS) -> list[str]:
    with db.snapshot() as session:
        return section_of(session, artifacts, section).splitlines()


def test_a_spec_that_was_not_run_is_marked_as_not_run(db: Database, section: Section) -> None:
    trained(db, "layer_norm", (0.5, 20, 1.0))
    lines = text_of(db, section)
    assert "| without | not run |  |  |  |  |  |" in lines
    assert "*LN: with ln, then without*: not known yet." in lines
    assert lines[0] == "## Table 9"


def test_the_numbers_are_means_over_the_seeds_and_specs_stand_as_expected(db: Database, section: Section) -> None:
    trained(db, "none", (0.3, None, 2.0), (0.4, None, 2.0), (0.5, 40, 2.5))
    trained(db, "layer_norm", (0.6, 20, 1.0), (0.7, 30, 1.5), (0.8, 30, 2.0))
    lines = text_of(db, section)
    head = lines.index(
        "| spec | seeds | test accuracy | 95% interval | `valid.loss` in the end | updates to the target | min a run |"
    )
    assert lines[head + 2 : head + 5] == [
        "| with ln | 3 | 0.7 | 0.3742 to 1 | 1.5 | 30 (3 of 3) | 1.5 |",  # 5.643 * 0.1 / sqrt(3)
        "| without | 3 | 0.4 | 0.07421 to 0.7258 | 2.167 | – (1 of 3) | 1.5 |",
        "| another | not run |  |  |  |  |  |",
    ]
    text = " ".join(lines)
    assert (  # scipy's ttest_ind of both, equal_var=False
        "*LN: with ln, then without*: seen in 3 of 3 seeds. **The board agrees**: with ln is better by 0.3"
        " (95% interval 0.0733 to 0.5267), p = 0.021."
    ) in text
    assert (
        "*LN: with ln, then without, by updates to the target*: seen in 3 of 3 seeds. **The board cannot tell**:"
        " without takes at least "
    ) in text
    assert (
        "*LN: with ln, then without, by `valid.loss` in the end*: seen in 3 of 3 seeds. **The board cannot tell**: with"
        " ln is better by 0.6667 (95% interval -0.3576 to 1.691), p = 0.13."
    ) in text
    assert FROM_SEEDS in lines


def test_an_order_seen_in_every_seed_is_doubted_where_the_board_cannot_tell(db: Database, section: Section) -> None:
    trained(db, "none", (0.5, None, 2.0), (0.6, None, 2.0), (0.7, 40, 2.0))
    trained(db, "layer_norm", (0.6, 20, 1.0), (0.7, 20, 1.0), (0.9, 20, 1.0))
    assert (
        "*LN: with ln, then without*: seen in 3 of 3 seeds. **The board cannot tell**: with ln is better by 0.1333"
        " (95% interval -0.1788 to 0.4454), p = 0.28."
    ) in " ".join(text_of(db, section))


def test_an_order_never_seen_is_contradicted_if_the_difference_is_significant(db: Database, section: Section) -> None:
    trained(db, "none", (0.9, 10, 2.0), (0.91, 10, 2.0), (0.89, 10, 2.0))
    trained(db, "layer_norm", (0.6, 20, 1.0), (0.61, 20, 3.0), (0.62, 20, 3.0))
    text = " ".join(text_of(db, section))
    assert (
        "*LN: with ln, then without*: seen in 0 of 3 seeds. **The board says the opposite**: with ln is worse by 0.29"
        " (95% interval 0.2673 to 0.3127), p < 0.0001."
    ) in text
    assert "by `valid.loss` in the end*: seen in 1 of 3 seeds. **The board cannot tell**" in text


def test_updates_to_the_target_are_compared_by_their_ratio(db: Database, section: Section) -> None:
    trained(db, "none", (0.3, 40, 2.0), (0.4, 60, 2.0), (0.5, 60, 2.0))
    trained(db, "layer_norm", (0.6, 20, 1.0), (0.7, 22, 1.0), (0.8, 24, 1.0))
    assert (  # scipy's ttest_ind of the logarithms, equal_var=False
        "*LN: with ln, then without, by updates to the target*: seen in 3 of 3 seeds. **The board agrees**: without"
        " takes 2.389 times the updates of with ln (95% interval 1.441 to 3.96), p = 0.014."
    ) in " ".join(text_of(db, section))


def test_a_target_at_the_first_evaluation_is_not_resolved(db: Database, section: Section) -> None:
    """The smoke profile evaluates every ten updates."""
    trained(db, "none", (0.3, 40, 2.0), (0.4, 60, 2.0), (0.5, 60, 2.0))
    trained(db, "layer_norm", (0.6, 10, 1.0), (0.7, 10, 1.0), (0.8, 24, 1.0))
    lines = text_of(db, section)
    cell = "at or before the first evaluation, 10 updates: not resolved (3 of 3)"
    assert any(line.startswith("| with ln | 3 |") and f" | {cell} | " in line for line in lines)
    assert any(line.startswith("| without | 3 |") and " | 60 (3 of 3) | " in line for line in lines)
    text = " ".join(lines)
    assert "without takes at least 3.915 times the updates of with ln, p = " in text, "of a bound there is no interval"
    told = " The updates of with ln are not resolved: they are at or before the first evaluation."
    assert text.count(told) == 1, "of the order by updates alone"


def test_times_are_given_to_the_level_that_the_baseline_holds(db: Database, section: Section) -> None:
    """The baseline holds 0.5 from update 30 on. The other spec reaches 0.5 at update 15, and holds its best, 0.8, from
    30 on.
    """
    curves = {"none": [0.1, 0.3, 0.5, 0.9, 0.5], "layer_norm": [0.25, 0.75, 0.8, 0.8, 0.8]}
    for method, values in curves.items():
        submitted(db, method, seeds=[0])
        lease = claimed(db).lease
        begun(db, lease)
        recorded(db, lease, *(measured(10 * (k + 1), valid__accuracy=value) for k, value in enumerate(values)))
        finished(db, lease, value=0.5)
    lines = text_of(db, section.model_copy(update={"baseline": "without"}))
    head = lines.index("| spec | updates | 95% interval | seconds | 95% interval | updates to its own | 95% interval |")
    assert lines[head + 2] == "| with ln | 0.5 | – | 0.5 | – | 1 | – |"
    assert lines[head + 3] == "| without | 1 | – | 1 | – | 1 | – |"


def test_metrics_that_do_not_rank_have_a_table_of_their_own(db: Database, section: Section) -> None:
    task = {"name": "char_lm", "profile": "smoke"}
    write(sections.SPECS / "text", {"with_ln": written(task=task, seeds=[0, 1]), "without": written("none", task=task)})
    of_text = section.model_copy(update={"specs": "text", "orders": (), "looks_into": ()})
    assert not any(line.startswith("What else") for line in text_of(db, of_text))
    submitted(db, "layer_norm", task=task, seeds=[0, 1])
    for accuracy in (0.4, 0.6):
        lease = claimed(db).lease
        begun(db, lease)
        values = {"bits_per_char": 2.0, "accuracy": accuracy}
        finished(db, lease, metric="bits_per_char", value=2.0, values=values)
    lines = text_of(db, of_text)
    head = lines.index("What else was tested: mean of the seeds, and its 95% interval:")
    assert lines[head + 2 : head + 6] == [
        "| spec | accuracy |",
        "|---|---|",
        "| with ln | 0.5 (0 to 1) |",  # 21.205 * 0.1 to either side
        "",
    ]
    submitted(db, "none", task=task, seeds=[0])
    lease = claimed(db).lease
    begun(db, lease)
    finished(db, lease, "diverged", metric="bits_per_char", value=None)
    assert "| without | – |" in text_of(db, of_text)


def test_an_order_of_specs_without_a_common_seed_is_not_known_yet(db: Database, section: Section) -> None:
    trained(db, "none", (0.3, None, 2.0))
    submitted(db, "layer_norm", seeds=[5])
    finished(db, claimed(db).lease, value=0.9)
    assert "*LN: with ln, then without*: not known yet." in text_of(db, section)


def test_every_machine_is_named(db: Database, section: Section) -> None:
    submitted(db, "none", seeds=[0, 1])
    for environment in (
        {"cpu": "A", "threads": 1, "torch": "9", "git": "abcdefghij"},
        {"cpu": "A", "gpu": "G", "threads": 2, "torch": "9", "git": None},
    ):
        lease = claimed(db).lease
        with db.transaction() as session:
            lifecycle.start(session, lease, Started(0, 9, "reference", 0, environment), device="cpu", resumed_from=None)
        finished(db, lease)
    lines = text_of(db, section)
    [line] = [line for line in lines if line.startswith("Measured on ")]
    assert line.startswith("Measured on A, 1 thread a run, torch 9; G, torch 9; commit abcdefg, unknown, ")


def test_a_chain_with_a_failing_step_lists_each_step(db: Database, section: Section) -> None:
    for method, value in (("layer_norm", 0.5), ("none", 0.7), ("rms_norm", 0.2)):
        trained(db, method, (value, None, 1.0))
    chain = Order(source="we", best_first=("with_ln", "without", "another"))
    lines = text_of(db, section.model_copy(update={"orders": (chain,)}))
    told = "(with ln before without in 0, without before another in 1)"
    assert (
        f"*we: with ln, then without, then another*: seen in 0 of 1 seeds {told}. **The board has no test**:"
        in " ".join(lines)
    )


def test_an_order_written_after_looking_says_so(db: Database, section: Section) -> None:
    trained(db, "none", (0.3, None, 2.0))
    trained(db, "layer_norm", (0.6, 20, 1.0))
    late = Order(source="profile `small`", best_first=("with_ln", "without"), after_looking=True)
    with_late = section.model_copy(update={"orders": (late,)})
    told = "profile `small`, written after looking: with ln, then without"
    assert any(line.startswith(f"*{told}*: seen in 1 of 1 seeds.") for line in text_of(db, with_late))
    with db.snapshot() as session:
        assert f" | {told} | the only seed | has no test |" in at_a_glance(session, [with_late])


def test_an_analysis_stands_beside_what_the_paper_says(
    db: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sections, "SPECS", tmp_path)
    spec = {"task": {"name": "fisher_geometry", "profile": "smoke"}}
    write(tmp_path / "some", {"geometry": spec})
    section = Section(title="Eq. 8", specs="some", claims="Equal.", differs="Not at all.")
    assert "Not run." in text_of(db, section)
    found = Finding("a", 0.25, "a factor").against("|d| is 1/2", False, "LN Eq. 8")
    analysed(db, spec, found, Finding("b", 1.0, "not claimed"))
    lines = text_of(db, section)
    assert "| geometry | a: a factor | 0.25 | \\|d\\| is 1/2 (LN Eq. 8) | **no** |" in lines
    assert not any("not claimed" in line for line in lines)


def test_only_analyses_of_the_sections_own_runs_count(db: Database, section: Section) -> None:
    task = {"name": "char_lm", "profile": "smoke"}
    write(sections.SPECS / "text", {"with_ln": written(task=task), "without": written("none", task=task)})
    of_text = section.model_copy(update={"specs": "text", "orders": ()})
    for method, bits in (("none", 2.0), ("rms_norm", 7.0)):
        submitted(db, method, task=task)
        lease = claimed(db).lease
        begun(db, lease)
        finished(db, lease, metric="bits_per_char", value=bits)
        looked = {"task": {"name": "length_generalization", "profile": "smoke", "run": lease.run_id}}
        analysed(db, looked, Finding("length 10", bits, "bits per character"))
    lines = text_of(db, of_text)
    assert "| without | length 10: bits per character | 2 |  |  |" in lines
    assert not any("| 7 |" in line for line in lines)


def test_at_a_glance_each_claim_has_a_line(db: Database, section: Section) -> None:
    trained(db, "none", (0.9, 10, 2.0), (0.9, 10, 2.0))
    trained(db, "layer_norm", (0.6, 20, 1.0), (0.7, 20, 3.0))
    write(sections.SPECS / "geometry", {"geometry": {"task": {"name": "fisher_geometry", "profile": "smoke"}}})
    analysis = Section(title="Eq. 8", specs="geometry", claims="Equal.", differs="Not at all.")
    guess = Order(source="our first guess", best_first=("without", "with_ln"))
    with db.snapshot() as session:
        assert "| [Eq. 8](#eq-8) | what the paper says | not run |  |" in at_a_glance(session, [analysis])
    found = Finding("a", 0.25, "a factor")
    analysed(
        db,
        {"task": {"name": "fisher_geometry", "profile": "smoke"}},
        found.against("1/2", False, "LN Eq. 8"),
        replace(found, name="b").against("1/4", True, "LN Eq. 8"),
        replace(found, name="c"),
    )
    asked = section.model_copy(update={"orders": (*section.orders, guess), "title": 'Fig. 6, "left": by hand'})
    with db.snapshot() as session:
        lines = at_a_glance(session, [asked, analysis]).splitlines()
    assert lines[-5:] == [
        '| [Fig. 6, "left": by hand](#fig-6-left-by-hand) | LN: with ln, then without, by updates to the target'
        " | no seed of 2 | cannot tell, p = 0.33 |",
        "|  | LN: with ln, then without, by `valid.loss` in the end | 1 of 2 seeds | cannot tell, p = 1 |",
        "|  | LN: with ln, then without | no seed of 2 | cannot tell, p = 0.13 |",
        "|  | our first guess: without, then with ln | all 2 seeds | cannot tell, p = 0.13 |",
        "| [Eq. 8](#eq-8) | what the paper says | 1 of 2 hold |  |",
    ]


def test_runs_at_full_size_count_only_with_the_papers_own_budget(db: Database) -> None:
    def line(before: Earlier = NOTHING) -> str:
        with db.snapshot() as session:
            return next(x for x in at_full_size(session, before).splitlines() if x.startswith("| permuted_mnist "))

    landed = Earlier(full_size={"permuted_mnist": "none 0.9 (1 seed)"})
    assert line() == "| permuted_mnist | 100,000 | 1.9e+15 | LSTM 0.902; BN-LSTM 0.954 | not run |"
    assert line(landed).endswith("| none 0.9 (1 seed) |")
    task = {"name": "permuted_mnist", "profile": "paper"}
    for method, changed, value in (
        ("none", {"max_steps": 300, "eval_every": 100}, 0.3),
        ("layer_norm", {}, 0.96),
    ):
        submitted(db, method, task=task, training=changed)
        lease = claimed(db).lease
        begun(db, lease)
        finished(db, lease, value=value)
    assert line().endswith("| layer_norm 0.96 (1 seed) |")
    assert line(landed) == line()


def test_published_results_that_no_section_measures_are_listed() -> None:
    measured = Section(title="-", specs="some", claims="-", differs="-", published=(RBN_TABLE_1,))
    rows = not_measured([measured]).splitlines()
    assert "| LN, Table 2 | order_embedding |" in rows
    assert "| RBN, Table 3 | char_lm |" in rows
    assert "| RBN, Table 1 | sequential_mnist |" in rows
    assert not any(row.startswith("| RBN, Table 1 | permuted_mnist") for row in rows)


def test_the_program_writes_the_page_of_the_services_database(
    db: Database, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NORMBENCH_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("NORMBENCH_DATABASE_URL", database_url)
    assert program.main(["--output", str(tmp_path / "page.md")]) == 0
    page = (tmp_path / "page.md").read_text(encoding="utf-8")
    assert [line for line in page.splitlines() if line.startswith("## ")] == [
        "## At a glance",
        *(f"## {section.title}" for section in sections.sections()),
        "## At the papers' own size",
        "## Tables and figures that no section's numbers compare with",
    ]
    landed = page.replace("BN-LSTM 0.954 | not run |", "BN-LSTM 0.954 | none 0.9 |")
    assert landed != page
    (tmp_path / "page.md").write_text(landed, encoding="utf-8")
    assert program.main(["--output", str(tmp_path / "page.md")]) == 0
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == landed, "nothing was run since"


def test_a_page_without_any_run_stays_as_it_is(db: Database) -> None:
    plain = PAGE.read_text(encoding="utf-8")
    landed = plain.replace("BN-LSTM 0.954 | not run |", "BN-LSTM 0.954 | none 0.9 |")
    assert landed != plain
    with db.snapshot() as session:
        assert page(session, NO_ARTIFACTS, sections.sections(), earlier(landed, read_seeds(SEEDS))) == landed


def test_the_landed_page_repeats_claims_and_differences_of_the_sections_file() -> None:
    landed = earlier(PAGE.read_text(encoding="utf-8"))
    for known in sections.sections():
        text = " ".join(landed.sections[known.title].split())
        assert " ".join(known.claims.split()) in text, known.title
        assert " ".join(known.differs.split()) in text, known.title
        assert [row[1] for row in landed.at_a_glance[known.title]] == (
            [expectation(order) for order in known.orders] or ["what the paper says"]
        )


def test_a_section_that_was_run_again_is_new(db: Database, section: Section) -> None:
    with db.snapshot() as session:
        before = (
            page(session, NO_ARTIFACTS, [section])
            .replace("| with ln | not run |", "| with ln | 3 |")
            .replace("It is better.", "It was better.")
        )
        assert page(session, NO_ARTIFACTS, [section], earlier(before)) == before
    trained(db, "layer_norm", (0.5, 20, 1.0))
    with db.snapshot() as session:
        assert page(session, NO_ARTIFACTS, [section], earlier(before)) == page(session, NO_ARTIFACTS, [section])
        assert "| with ln | 1 | 0.5 |" in page(session, NO_ARTIFACTS, [section])


def test_verdicts_of_an_absent_section_come_from_its_printed_table(db: Database, section: Section) -> None:
    """Intervals are Student's t at 95% of .48 .51 .55 and of .8 .82 .79; p is computed from these values."""
    orders = (section.orders[0], Order(source="LN", best_first=("without", "with_ln")))
    asked = section.model_copy(update={"orders": orders, "shows": ""})
    with db.snapshot() as session:
        before = (
            page(session, NO_ARTIFACTS, [asked])
            .replace(
                f"| with ln | {NOT_RUN} |  |  |  |  |",
                "| with ln | 3 | 0.8033 | 0.7654 to 0.8413 | 10 (3 of 3) | 1.0 |",
            )
            .replace(
                f"| without | {NOT_RUN} |  |  |  |  |",
                "| without | 3 | 0.5133 | 0.4261 to 0.6006 | 20 (3 of 3) | 1.0 |",
            )
            .replace(
                "by updates to the target*: not known yet.", "by updates to the target*: **holds**, in 3 of 3 seeds."
            )
            .replace(
                "with ln*: not known yet.",
                "with ln*: **does not hold**, in 0 of 3 seeds.\n\nMeasured; commit bd0cfa7, now.",
            )
        )
        kept = " ".join(page(session, NO_ARTIFACTS, [asked], earlier(before)).split())
        later = page(session, NO_ARTIFACTS, [asked], earlier(before.replace("bd0cfa7", "abcdef0")))
        assert page(session, NO_ARTIFACTS, [asked], earlier(later)) == later
    assert (
        "*LN: without, then with ln*: seen in 0 of 3 seeds. **The board says the opposite**: without is worse by 0.29"
        " (95% interval 0.2155 to 0.3645), p = 0.0015."
    ) in kept
    assert FROM_PRINTED in kept
    assert (
        "*LN: with ln, then without, by updates to the target*: seen in 3 of 3 seeds. **Verdict not computed**: the"
        " results of each seed are not at hand; `normbench submit examples/reproductions/some/*.yaml --wait` measures"
        " them. The updates of with ln are not resolved: they are at or before the first evaluation."
    ) in kept
    assert "| at or before the first evaluation, 10 updates: not resolved (3 of 3) | 1.0 |" in kept
    assert "| LN: without, then with ln | no seed of 3 | says the opposite, p = 0.0015 |" in kept
    assert "The board" not in later.partition("## Table 9")[2], "nobody knows what t its intervals have"


def test_verdicts_of_an_absent_section_come_from_the_seeds_beside_the_page(
    db: Database, section: Section, tmp_path: Path
) -> None:
    trained(db, "none", (0.3, None, 2.0), (0.4, None, 2.0), (0.5, 40, 2.5))
    trained(db, "layer_norm", (0.6, 10, 1.0), (0.7, 30, 1.5), (0.8, 30, 2.0))
    with db.snapshot() as session:
        written = page(session, NO_ARTIFACTS, [section])
        write_seeds(tmp_path / "seeds.json", seeds_of(session, [section]))
    before = earlier(written, read_seeds(tmp_path / "seeds.json"))
    assert refresh(section, before) == written[written.index("## Table 9") : written.index("\n\n## At the")]
    assert "**The board agrees**" in refresh(section, before)


def test_a_row_that_was_not_run_again_stays_and_is_compared_by_its_printed_interval(
    db: Database, section: Section
) -> None:
    """The printed page has mean and interval of .48 .51 .55 with four digits; .8 .82 .79 are measured."""
    orders = (section.orders[0], Order(source="LN", best_first=("with_ln", "without")))
    asked = section.model_copy(update={"orders": orders, "shows": "", "baseline": "with_ln"})
    row = "| without | 3 | 0.5133 | 0.4261 to 0.6006 | 10 (3 of 3) | 1.0 |"
    measured_on = "Measured on a machine; commit bd0cfa7, 2026-11-25."
    head, times = f"|{'---|' * 7}", "\n| without | 3.25 | 1 to 6 | 3 | 1 to 5 | 2 | 1 to 4 |"
    with db.snapshot() as session:
        before = (
            page(session, NO_ARTIFACTS, [asked])
            .replace(f"| without | {NOT_RUN} |  |  |  |  |", row)
            .replace("**How far", f"{measured_on}\n\n**How far")
            .replace(head, head + times)
            .replace(
                "*LN: with ln, then without*: not known yet.", "*LN: with ln, then without*: seen in 3 of 3 seeds."
            )
        )
    trained(db, "layer_norm", (0.8, 20, 1.0), (0.82, 20, 1.0), (0.79, 20, 1.0))
    with db.snapshot() as session:
        printed = page(session, NO_ARTIFACTS, [asked], earlier(before))
        seeds = seeds_of(session, [asked], earlier(before))
        assert page(session, NO_ARTIFACTS, [asked], earlier(printed, seeds)) == printed
    text = " ".join(printed.split())
    assert row.replace("10 (3", "at or before the first evaluation, 10 updates: not resolved (3") in printed
    assert (
        "*LN: with ln, then without*: not counted seed by seed. **The board agrees**: with ln is better by 0.29"
        " (95% interval 0.2156 to 0.3645), p = 0.0015."
    ) in text
    assert "updates to the target*: not counted seed by seed. **Verdict not computed**" in text
    assert (
        "Rows of without stand as they were printed before, and so do the times. They were measured on a machine;"
        " commit bd0cfa7,"
    ) in text
    assert FROM_BOTH.format("without") in text
    assert list(seeds["some"]) == ["with_ln"]
    assert printed.count(head + times) == 1, "the curves of the other are not at hand"


def test_an_analysis_that_was_run_again_is_new(db: Database, section: Section) -> None:
    spec = {"task": {"name": "fisher_geometry", "profile": "smoke"}}
    write(sections.SPECS / "geometry", {"geometry": spec})
    analysis = Section(title="Eq. 8, |d|", specs="geometry", claims="Equal.", differs="Not at all.")
    with db.snapshot() as session:
        before = page(session, NO_ARTIFACTS, [analysis]).replace(
            "| what the paper says | not run |", "| what the paper says | here |"
        )
        assert "| here |" in before
        assert page(session, NO_ARTIFACTS, [analysis], earlier(before)) == before
    analysed(db, spec, Finding("a", 0.25, "a factor").against("1/2", False, "LN Eq. 8"))
    with db.snapshot() as session:
        again = page(session, NO_ARTIFACTS, [analysis], earlier(before))
        assert again == page(session, NO_ARTIFACTS, [analysis])
    assert "| geometry | a: a factor | 0.25 | 1/2 (LN Eq. 8) | **no** |" in again
    assert "| what the paper says | 0 of 1 hold |" in again


def test_the_program_says_that_there_is_no_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NORMBENCH_DATA_DIR", str(tmp_path / "nothing"))
    monkeypatch.delenv("NORMBENCH_DATABASE_URL", raising=False)
    assert program.main([]) == 1
    assert "set NORMBENCH_DATA_DIR" in capsys.readouterr().err
    assert not (tmp_path / "nothing").exists()
