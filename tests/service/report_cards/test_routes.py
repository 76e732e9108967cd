"""A report card collects what analyses and leaderboards say of a method, and what is still to be measured."""

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event
from starlette.testclient import TestClient

from normcore.events import Finding
from normcore.own_code import code_of
from normcore.spec import methods, resolve
from normcore.spec.cells import CELLS
from service.db import Database
from service.report_cards import queries
from tests.service.sample_runs import analysed, claimed, failed, finished, submitted, submitted_analysis


def card_of(client: TestClient, method: str) -> dict[str, Any]:
    answer = client.get(f"/v1/methods/{method}/report-card")
    assert answer.status_code == 200, answer.text
    card: dict[str, Any] = answer.json()
    return card


@pytest.mark.parametrize(
    "path",
    [
        "/v1/methods/scale_norm/report-card",
        "/v1/methods/scale_norm",
        "/v1/experiments?method=scale_norm",
        "/v1/leaderboards/permuted_digits?baseline=scale_norm",
        "/v1/results?method=scale_norm",
        "/methods/scale_norm",
    ],
)
def test_method_written_after_the_service_started_is_refused_with_the_repair(
    client: TestClient, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(methods, "__path__", [*methods.__path__, str(tmp_path)])
    assert "choose from" in client.get(path).text
    (tmp_path / "scale_norm.py").write_text("")
    answer = client.get(path)
    assert answer.status_code in (404, 422)
    assert "this process has not loaded it; restart the API and the workers" in answer.text


def test_everything_is_missing_of_a_method_without_results(client: TestClient) -> None:
    card = card_of(client, "layer_norm")
    assert (card["method"], card["title"]) == ("layer_norm", "Layer normalization")
    assert (card["invariances"], card["standings"], card["pending"]) == (None, [], [])
    norm = {"method": "layer_norm"}
    assert card["missing"] == [
        {"task": {"name": "invariances"}, "norm": norm},
        *(
            {"task": {"name": task}, "model": {"cell": cell}, "norm": norm}
            for cell in CELLS
            for task in ("gradient_flow", "step_cost", "smallest_batch")
        ),
    ]


def test_missing_analyses_can_be_submitted_and_are_pending_then(client: TestClient) -> None:
    ids = []
    for spec in card_of(client, "rms_norm")["missing"]:
        answer = client.post("/v1/experiments", json=spec)
        assert answer.status_code == 201, answer.text
        ids.append(answer.json()["id"])
    card = card_of(client, "rms_norm")
    assert (card["missing"], sorted(card["pending"])) == ([], sorted(ids))


def test_after_an_undo_the_runs_of_the_present_code_count_again(client: TestClient, db: Database) -> None:
    spec = {"task": {"name": "step_cost"}, "model": {"cell": "gru"}, "norm": {"method": "layer_norm"}}
    code = code_of(resolve(spec))
    present = analysed(db, spec, Finding("ratio", 3.0, "times"), code=code)
    analysed(db, spec, Finding("ratio", 2.0, "times"), code={**code, "parts": {**code["parts"], "norm": "edited"}})
    card = card_of(client, "layer_norm")
    assert spec not in card["missing"]
    assert card["cells"]["gru"]["step_cost"]["run_id"] == present
    assert client.post("/v1/experiments?dry_run=true", json=spec).json()["measured_seeds"] == [0]


def test_the_newest_success_counts(client: TestClient, db: Database) -> None:
    spec = {"task": {"name": "step_cost"}, "model": {"cell": "gru"}, "norm": {"method": "layer_norm"}}
    analysed(db, spec, Finding("ratio", 3.0, "times"))
    newest = analysed(db, spec, Finding("ratio", 2.0, "times", verdict="dearer"))
    submitted_analysis(db, spec)
    card = card_of(client, "layer_norm")
    measured = card["cells"]["gru"]["step_cost"]
    assert (measured["run_id"], measured["device"]) == (newest, "cpu")
    assert measured["findings"] == [
        {
            "name": "ratio",
            "value": 2.0,
            "meaning": "times",
            "verdict": "dearer",
            "claim": None,
            "holds": None,
            "source": None,
            "parameters": {},
        }
    ]
    assert card["cells"]["lstm"]["step_cost"] is None
    assert (len(card["missing"]), card["pending"]) == (9, [])


def test_an_analysis_that_failed_is_still_missing(client: TestClient, db: Database) -> None:
    spec = {"task": {"name": "invariances"}, "norm": {"method": "none"}}
    submitted_analysis(db, spec)
    failed(db, claimed(db).lease)
    assert spec in card_of(client, "none")["missing"]


@pytest.mark.parametrize("changed", [{"task": {"name": "invariances"}, "norm": {"method": "layer_norm", "eps": 0.1}}])
def test_analyses_of_other_options_do_not_count(client: TestClient, db: Database, changed: dict[str, Any]) -> None:
    analysed(db, changed)
    assert card_of(client, "layer_norm")["invariances"] is None


def test_a_card_has_no_cells_for_a_method_of_layers_and_says_what_cannot_apply(client: TestClient) -> None:
    assert card_of(client, "batch_norm")["cells"] == {}
    card = card_of(client, "instance_norm")
    assert card["missing"] == []
    assert "use group_norm" in card["not_applicable"]["invariances"]


def test_the_best_entry_of_each_board_is_shown(client: TestClient, db: Database) -> None:
    for method, values in {"none": [0.5, 0.6], "layer_norm": [0.8, 0.9]}.items():
        submitted(db, method, seeds=(0, 1))
        for value in values:
            finished(db, claimed(db).lease, value=value)
    [standing] = card_of(client, "layer_norm")["standings"]
    assert (standing["task"], standing["profile"], standing["rank"], standing["of"]) == (
        "permuted_digits",
        "smoke",
        1,
        2,
    )
    assert (standing["mean"], standing["n_seeds"]) == (pytest.approx(0.85), 2)
    assert card_of(client, "none")["standings"][0]["rank"] == 2


def test_the_best_entry_is_chosen_by_validation_and_ranked_among_other_methods(
    client: TestClient, db: Database
) -> None:
    """Test values would let luck win among many settings."""
    for gain, valid, test in ((1.0, 0.7, 0.9), (0.5, 0.8, 0.6), (0.1, 0.75, 0.95)):
        submitted(db, norm={"method": "layer_norm", "gain_init": gain})
        finished(db, claimed(db).lease, value=test, valid_value=valid)
    submitted(db, "none")
    finished(db, claimed(db).lease, value=0.65)
    [standing] = card_of(client, "layer_norm")["standings"]
    assert (standing["mean"], standing["rank"], standing["of"]) == (0.6, 2, 2)


def test_an_unknown_method_is_not_found(client: TestClient) -> None:
    answer = client.get("/v1/methods/no_norm/report-card")
    assert answer.status_code == 404
    assert "choose from batch_norm" in answer.json()["detail"]


def test_a_page_and_the_files_of_a_card_compute_it_once(client: TestClient, db: Database) -> None:
    card, page = "/v1/methods/layer_norm/report-card", "/methods/layer_norm"
    submitted(db, "layer_norm")
    finished(db, claimed(db).lease)
    searches = list[str]()
    engine = client.app.state.db.engine  # type: ignore[attr-defined]

    def note(_: object, __: object, statement: str, *___: object) -> None:
        searches.extend([statement] if "experiments.fingerprint = " in statement else [])

    def count(*asked: str) -> int:
        """Number of times that requests look for an analysis, which only making a card does."""
        searches.clear()
        for one in asked:
            assert client.get(one).status_code == 200
        return len(searches)

    event.listen(engine, "before_cursor_execute", note)
    once = count(card)
    assert once > 0
    assert count(card, f"{card}?format=csv", f"{card}?format=latex", page) == 0
    known = client.get(card)
    assert client.get(card, headers={"If-None-Match": known.headers["etag"]}).status_code == 304
    submitted(db, "layer_norm", seeds=[7])
    finished(db, claimed(db).lease)
    assert count(page, card) == once
    assert client.get(card).json() != known.json()


def test_a_card_has_another_version_when_something_of_it_changed(client: TestClient, db: Database) -> None:
    def version(method: str = "layer_norm") -> object:
        with db.snapshot() as session:
            return queries.version(session, method)

    seen = [version()]
    submitted_analysis(db, {"task": {"name": "invariances"}, "norm": {"method": "layer_norm"}})
    seen.append(version())
    failed(db, claimed(db).lease)
    seen.append(version())
    others = version("rms_norm")
    submitted(db, "none")
    assert version() == seen[-1]
    finished(db, claimed(db).lease)
    seen.append(version())
    assert len(set(seen)) == len(seen)
    assert version("rms_norm") != others
