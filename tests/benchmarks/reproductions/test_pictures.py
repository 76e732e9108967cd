"""A section's pictures show the curves and the samples of the database's runs."""

import json
from pathlib import Path

import pytest

from benchmarks.reproductions import sections
from benchmarks.reproductions.mean_curves import Band
from benchmarks.reproductions.pictures import bands, draw, pictures
from benchmarks.reproductions.sections import Sample, Section
from normcore.target import Point
from service.artifacts import Artifacts
from service.db import Database
from tests.benchmarks.reproductions.test_page import text_of, write
from tests.service.sample_runs import begun, claimed, finished, measured, recorded, submitted, written


def test_a_band_is_the_mean_over_seeds_up_to_the_first_ones_end() -> None:
    first = [Point(10, 0.2, 1.0), Point(20, 0.4, 2.0)]
    second = [*(Point(step, value + 0.2, 1.0) for step, value, _ in first), Point(30, 0.9, 3.0)]
    at_10, at_20 = bands([first, second])
    assert (at_10.x, at_10.mean, at_20.x, at_20.mean) == pytest.approx((10, 0.3, 20, 0.5))
    assert at_10.interval == pytest.approx((0.3 - 2.1205, 0.3 + 2.1205), abs=1e-4)  # t = 21.205, one degree of freedom
    assert bands([first]) == [Band(10, 0.2, None), Band(20, 0.4, None)]


@pytest.fixture
def section(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Section:
    monkeypatch.setattr(sections, "SPECS", tmp_path)
    write(tmp_path / "some", {"with_ln": written(seeds=[0, 1]), "without": written("none", seeds=[0, 1])})
    samples = [
        Sample(spec="with_ln", artifact="made.png", shows="What it makes"),
        Sample(spec="with_ln", artifact="figures/window.json", shows="Where it looks"),
        Sample(spec="with_ln", artifact="found.txt", shows="What it finds", lines=2),
        Sample(spec="without", artifact="made.png", shows="What the other makes"),
    ]
    own = {"title": "Fig. 9", "specs": "some", "claims": "It is better.", "differs": "Much."}
    return Section.model_validate({**own, "baseline": "without", "draws": ["with_ln", "without"], "samples": samples})


def test_curves_and_samples_are_those_of_the_runs(db: Database, section: Section, tmp_path: Path) -> None:
    artifacts = Artifacts(str(tmp_path / "artifacts"))
    submitted(db, "layer_norm", seeds=[0, 1])
    for seed in range(2):
        lease = claimed(db).lease
        begun(db, lease)
        recorded(db, lease, measured(10, valid__accuracy=0.2 + 0.2 * seed), measured(20, valid__accuracy=0.9))
        for name, content in (
            ("made.png", b"picture %d" % seed),
            ("figures/window.json", b'{"data": [], "layout": {}}'),
            ("found.txt", b"seed %d\n    1 of 2\nanother\n" % seed),
        ):
            artifacts.write(lease.run_id, lease.attempt, name, content)
        finished(db, lease)
    with db.snapshot() as session:
        found = dict(pictures(session, artifacts, section))
    assert found.keys() == {"curves.svg", "with_ln-made.png", "with_ln-window.svg"}
    assert found["with_ln-made.png"] == b"picture 0"
    assert found["with_ln-window.svg"] == {"data": [], "layout": {}}
    figure = json.loads(json.dumps(found["curves.svg"]))
    [line] = [trace for trace in figure["data"] if trace.get("name") == "with ln"]
    assert (line["x"], line["y"]) == ([10, 20], pytest.approx([0.3, 0.9]))
    assert figure["layout"]["yaxis"]["title"]["text"] == "accuracy in validation"
    lines = text_of(db, section, artifacts)
    begin = lines.index("What it finds:")
    assert lines[begin + 1 : begin + 6] == ["", "```text", "seed 0", "    1 of 2", "```"]
    linked = [text for text in lines if text.startswith("![")]
    assert linked == [
        "![Validation by updates: mean of the seeds, and its 95% interval](reproductions/some/curves.svg)",
        "![What it makes](reproductions/some/with_ln-made.png)",
        "![Where it looks](reproductions/some/with_ln-window.svg)",
    ]


def test_pictures_show_the_first_seed_that_did_not_diverge(db: Database, section: Section, tmp_path: Path) -> None:
    artifacts = Artifacts(str(tmp_path / "artifacts"))
    submitted(db, "none", seeds=[0, 1])
    for value in (None, 0.5):
        lease = claimed(db).lease
        begun(db, lease)
        recorded(db, lease, measured(10, valid__accuracy=0.2))
        if value is not None:
            artifacts.write(lease.run_id, lease.attempt, "made.png", b"the second")
        finished(db, lease, value=value)
        with db.snapshot() as session:
            found = dict(pictures(session, artifacts, section))
        shown = [line for line in text_of(db, section) if "without-made.png" in line]
        assert (found.get("without-made.png"), len(shown)) == ((None, 0) if value is None else (b"the second", 1))


def test_there_are_no_pictures_without_a_run(db: Database, section: Section, tmp_path: Path) -> None:
    with db.snapshot() as session:
        assert dict(pictures(session, Artifacts(str(tmp_path)), section)) == {}
    assert not any(line.startswith("![") for line in text_of(db, section))


def test_curves_stay_where_not_all_of_their_specs_were_run_again(
    db: Database, section: Section, tmp_path: Path
) -> None:
    folder, artifacts = tmp_path / "pictures", Artifacts(str(tmp_path / "artifacts"))
    (folder / "some").mkdir(parents=True)
    (folder / "some" / "curves.svg").write_text("as it was")
    submitted(db, "layer_norm", seeds=[0])
    lease = claimed(db).lease
    begun(db, lease)
    recorded(db, lease, measured(10, valid__accuracy=0.2))
    artifacts.write(lease.run_id, lease.attempt, "made.png", b"new")
    finished(db, lease)
    with db.snapshot() as session:
        draw(session, artifacts, [section.model_copy(update={"samples": section.samples[:1]})], folder)
    assert (folder / "some" / "curves.svg").read_text() == "as it was"
    assert (folder / "some" / "with_ln-made.png").read_bytes() == b"new"


def test_every_picture_that_the_page_shows_exists() -> None:
    page = Path(__file__).parents[3] / "docs/results/reproductions.md"
    shown = [line.rpartition("(")[2].removesuffix(")") for line in page.read_text().splitlines() if line[:2] == "!["]
    assert shown
    assert [name for name in shown if not (page.parent / name).is_file()] == []
