"""Results that were measured elsewhere, over HTTP."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import text
from starlette.testclient import TestClient

from normcore.spec import resolve
from service.db import Database
from service.leaderboards.submitted_results import storing
from service.leaderboards.submitted_results.reading import read
from service.leaderboards.submitted_results.tables import SubmittedResult
from tests.processes import until
from tests.service.http_calls import is_problem
from tests.service.leaderboards.boards import board, ended, result
from tests.service.sample_runs import claimed, failed, finished, submitted, written

CLAIMED = [0.80, 0.84, 0.88]
PROVENANCE = {
    "source": "https://example.org/log",
    "code": "3c90448",
    "hardware": "a laptop",
    "note": "torch 2.9\nseed 3",
}


def claim(values: list[float] = CLAIMED, method: str = "layer_norm", **parts: Any) -> dict[str, Any]:
    """A submitted result as a user writes it."""
    spec = {"task": {"name": "permuted_digits", "profile": "smoke"}, "norm": {"method": method}}
    evidence = [{"seed": seed, "value": value} for seed, value in enumerate(values)]
    return {**spec, "values": evidence, "provenance": PROVENANCE, **parts}


def accepted(client: TestClient, *args: Any, key: str | None = None, **parts: Any) -> dict[str, Any]:
    headers = {"Idempotency-Key": key} if key else {}
    answer = client.post("/v1/results", json=claim(*args, **parts), headers=headers)
    assert answer.status_code == 201, answer.text
    content: dict[str, Any] = answer.json()
    assert answer.headers["location"] == f"/v1/results/{content['id']}"
    return content


def errors_of(client: TestClient, body: Any) -> dict[str, str]:
    """Messages by field of a refused body; nothing of it is stored."""
    answer = client.post("/v1/results", json=body)
    assert is_problem(answer, 422)
    assert client.get("/v1/results").json()["items"] == []
    return {".".join(map(str, error["loc"])): error["msg"] for error in answer.json()["errors"]}


def measured(db: Database, values: list[float | None], method: str = "layer_norm", first_seed: int = 100) -> None:
    experiment = submitted(db, method, seeds=range(first_seed, first_seed + len(values)))
    ended(db, experiment, *({"value": value} for value in values))


def state_of(client: TestClient, result_id: str) -> str:
    return str(client.get(f"/v1/results/{result_id}").json()["state"])


def test_a_result_has_the_fingerprint_of_its_spec_and_is_claimed(client: TestClient) -> None:
    got = accepted(client)
    spec = resolve(written("layer_norm", seeds=[0, 1, 2]))
    assert got["id"].startswith("res_")
    assert (got["fingerprint"], got["state"], got["metric"]) == (spec.fingerprint(), "claimed", "accuracy")
    assert got["spec"] == spec.model_dump(mode="json")
    assert got["values"] == [{"seed": seed, "value": value} for seed, value in enumerate(CLAIMED)]
    assert got["value"]["mean"] == pytest.approx(0.84)
    assert got["value"]["ci95"] == pytest.approx([0.7097, 0.9703], abs=1e-4)
    assert got["provenance"] == PROVENANCE
    assert (got["fresh_seeds"], got["difference"], got["withdrawn_at"]) == ([], None, None)
    assert client.get(f"/v1/results/{got['id']}").json() == got


def test_a_result_may_be_written_in_yaml(client: TestClient) -> None:
    text = """
    task: {name: permuted_digits, profile: smoke}
    norm: {method: none}
    values: [{seed: 7, value: 5e-1}]
    provenance: {source: http://example.org}
    """
    answer = client.post("/v1/results", content=text, headers={"Content-Type": "application/yaml"})
    assert answer.status_code == 201, answer.text
    assert answer.json()["values"] == [{"seed": 7, "value": 0.5}]
    assert answer.json()["provenance"] == {"source": "http://example.org", "code": None, "hardware": None, "note": None}


def test_the_data_of_the_task_need_not_be_present(client: TestClient) -> None:
    got = accepted(client, [1.2, 1.3], task={"name": "char_lm", "profile": "paper"})
    assert got["spec"]["task"]["corpus"] == "ptb"
    assert [entry["result_id"] for entry in board(client, "char_lm", "paper")["entries"]] == [got["id"]]


def test_the_same_key_finds_the_same_result(client: TestClient) -> None:
    first = accepted(client, key="k")
    again = client.post("/v1/results", json=claim(), headers={"Idempotency-Key": "k"})
    assert (again.status_code, again.json()) == (200, first)
    other = client.post("/v1/results", json=claim([0.5]), headers={"Idempotency-Key": "k"})
    assert is_problem(other, 409)
    assert len(client.get("/v1/results").json()["items"]) == 1


@pytest.mark.parametrize(
    ("wrong", "field", "said"),
    [
        ({"values": []}, "values", "give 1 or more"),
        ({"values": [{"value": 0.5}]}, "values.0.seed", 'it is required; write {"seed": …, "value": 0.5}'),
        ({"values": [{"seed": 0, "value": 2}]}, "values.0.value", "accuracy is 0 to 1, and cannot be 2"),
        ({"values": [{"seed": 0, "value": 0.9}, {"seed": 0, "value": 0.9}]}, "values.1.seed", "seed 0 is given twice"),
        ({"values": [{"seed": -1, "value": 0.9}]}, "values.0.seed", "greater than or equal to 0"),
        ({"values": [{"seed": True, "value": 0.9}]}, "values.0.seed", "expected a whole number, not true"),
        ({"values": [{"seed": 0, "value": "0.9"}]}, "values.0.value", "expected a number"),
        ({"values": [{"seed": 0, "value": None}]}, "values.0.value", "expected a number"),
        (
            {"values": [{"seed": 0, "value": 0.9, "valid": 0.9}]},
            "values.0.valid",
            "unknown field; did you mean 'value'?",
        ),
        ({"provenance": {"source": "http://a", "cod": "x"}}, "provenance.cod", "unknown field; did you mean 'code'?"),
        ({"provenance": {"source": "http://a", "gpu": "x"}}, "provenance.gpu", "choose from code, hardware, note, so"),
        ({"values": 0.9}, "values", "expected a list"),
        ({"provenance": {}}, "provenance.source", 'required; write "provenance": {"source": …}'),
        ({"provenance": {"source": "javascript:alert(1)"}}, "provenance.source", "give an http or https address"),
        ({"provenance": {"source": "https://"}}, "provenance.source", "give an http or https address"),
        ({"provenance": {"source": "https:// a"}}, "provenance.source", "give an http or https address"),
        ({"provenance": {"source": "http://a", "note": "\x00"}}, "provenance.note", "printable"),
        ({"provenance": {"source": "http://a", "code": "\u202e"}}, "provenance.code", "printable"),
        ({"provenance": {"source": "http://a", "note": "x" * 2001}}, "provenance.note", "2000"),
        ({"provenance": "a friend"}, "provenance", "expected an object"),
        ({"seeds": [0]}, "seeds", "unknown field; write each seed into values"),
        ({"value": 0.9}, "value", "unknown field; did you mean 'values'?"),
        ({"labels": {}}, "labels", "unknown field; choose from task, model"),
        ({"task": {"name": "permuted_digist"}}, "task.name", "did you mean 'permuted_digits'?"),
        ({"task": {"name": "invariances"}}, "task.name", "has no board"),
        ({"task": {"name": "char_lm", "corpus": "file", "file": "a.txt"}}, "task.sha256", "required with task.file"),
    ],
)
def test_a_wrong_value_is_named_with_its_field(
    shared_client: TestClient, wrong: dict[str, Any], field: str, said: str
) -> None:
    found = errors_of(shared_client, {**claim(), **wrong})
    assert said in found[field]


@pytest.mark.parametrize("missing", ["task", "values", "provenance"])
def test_a_missing_field_is_named(shared_client: TestClient, missing: str) -> None:
    assert (
        "it is required; add" in errors_of(shared_client, {k: v for k, v in claim().items() if k != missing})[missing]
    )


def test_all_wrong_fields_are_named_at_once(shared_client: TestClient) -> None:
    wrong = {**claim([2.0]), "norm": {"method": "layer_norm", "eps": -1}, "provenance": {"source": "ftp://x"}}
    assert set(errors_of(shared_client, wrong)) == {"norm.eps", "provenance.source"}
    assert set(errors_of(shared_client, {**wrong, "norm": {}, "provenance": PROVENANCE})) == {"values.0.value"}


@pytest.mark.parametrize("number", ["NaN", "Infinity", "1e999"])
def test_a_value_that_is_not_a_number_is_refused(shared_client: TestClient, number: str) -> None:
    text = shared_client.build_request("POST", "/", json=claim([0.125])).content.decode().replace("0.125", number)
    answer = shared_client.post("/v1/results", content=text, headers={"Content-Type": "application/json"})
    assert is_problem(answer, 422)
    assert [error["loc"] for error in answer.json()["errors"]] == [["values", 0, "value"]]
    yaml = {"NaN": ".nan", "Infinity": ".inf", "1e999": "1e999"}[number]
    text = text.replace(number, yaml)
    answer = shared_client.post("/v1/results", content=text, headers={"Content-Type": "application/yaml"})
    assert is_problem(answer, 422)
    assert [error["loc"] for error in answer.json()["errors"]] == [["values", 0, "value"]]


@pytest.mark.parametrize("body", [[], "text", 1])
def test_a_body_that_is_not_an_object_is_refused(shared_client: TestClient, body: Any) -> None:
    assert is_problem(shared_client.post("/v1/results", json=body), 422)


def test_hostile_text_stays_text(client: TestClient) -> None:
    hostile = {
        "source": "https://example.org/?q=<script>alert(1)</script>",
        "code": '=HYPERLINK("x")',
        "note": "'; --\n😀",
    }
    got = accepted(client, provenance=hostile)
    assert {**hostile, "hardware": None} == client.get(f"/v1/results/{got['id']}").json()["provenance"]


def test_a_claim_moves_no_entry_and_is_in_no_statistic(client: TestClient, db: Database) -> None:
    result(db, "layer_norm", [0.80, 0.81, 0.82], [10, 12, 14])
    result(db, "none", [0.60, 0.61, 0.62], [20, 22, 24])
    before = board(client)["entries"]
    got = accepted(client, [0.97, 0.98, 0.99], "none")
    middle = accepted(client, [0.70, 0.72], "rms_norm")
    after = board(client)["entries"]
    assert [entry for entry in after if entry["source"] == "measured"] == before
    claims = {e["result_id"]: e for e in after if e["source"] == "submitted"}
    assert [e["result_id"] or e["method"] for e in after] == [got["id"], "layer_norm", middle["id"], "none"]
    first = claims[got["id"]]
    assert (first["rank"], first["rank_ci"], first["tie_group"]) == (1, None, None)
    assert (first["state"], first["provenance"], first["n_seeds"], first["n_runs"]) == ("claimed", PROVENANCE, 3, 0)
    assert first["value"] == got["value"] == first["values"]["accuracy"]
    assert (first["speedup"], first["steps_to_target"], first["experiments"]) == (None, None, [])
    assert claims[middle["id"]]["rank"] == 2
    by_time = board(client, rank_by="steps_to_target")["entries"]
    assert [e["rank"] for e in by_time] == [1, 2, None, None], "they have no times"


def test_a_claim_over_the_budget_has_no_rank_unless_asked_for(client: TestClient, db: Database) -> None:
    result(db, "none", [0.6], [20])
    accepted(client, [0.9], training={"max_steps": 400})
    [claim] = [entry for entry in board(client)["entries"] if entry["source"] == "submitted"]
    assert (claim["rank"], claim["over_budget"]) == (None, True)
    [claim] = [entry for entry in board(client, over_budget=True)["entries"] if entry["source"] == "submitted"]
    assert claim["rank"] == 1


def test_fresh_seeds_confirm_a_claim(client: TestClient, db: Database) -> None:
    got = accepted(client)
    measured(db, [0.83, 0.85])
    assert state_of(client, got["id"]) == "claimed", "of two seeds nobody knows"
    measured(db, [0.82], first_seed=200)
    found = client.get(f"/v1/results/{got['id']}").json()
    assert (found["state"], found["fresh_seeds"]) == ("confirmed", [100, 101, 200])
    assert found["difference"]["mean"] == pytest.approx(0.84 - (0.83 + 0.85 + 0.82) / 3)
    assert found["difference"]["p_value"] > 0.05
    states = {e["result_id"]: e["state"] for e in board(client)["entries"] if e["source"] == "submitted"}
    assert states == {got["id"]: "confirmed"}


def test_seeds_that_the_claim_has_itself_do_not_confirm_it(client: TestClient, db: Database) -> None:
    got = accepted(client)
    measured(db, [*CLAIMED], first_seed=0)
    measured(db, [0.84, 0.85], first_seed=3)
    assert state_of(client, got["id"]) == "claimed"


@pytest.mark.parametrize("fresh", [[None, None, None], [0.05, 0.06, 0.07]], ids=["diverged", "exploded"])
def test_fresh_seeds_without_skill_count_as_its_level_and_dispute_a_claim(
    client: TestClient, db: Database, fresh: list[float | None]
) -> None:
    """Hand computation: .84 was claimed, and each fresh seed counts as .1, so the two are .74 apart."""
    got = accepted(client)
    measured(db, fresh)
    found = client.get(f"/v1/results/{got['id']}").json()
    assert (found["state"], found["difference"]["mean"]) == ("disputed", pytest.approx(0.84 - 0.1))


def test_a_claim_without_skill_is_confirmed_by_seeds_without_skill(client: TestClient, db: Database) -> None:
    got = accepted(client, [0.01, 0.02, 0.03])
    measured(db, [0.07, 0.08, 0.09])
    found = client.get(f"/v1/results/{got['id']}").json()
    assert (found["state"], found["difference"]["mean"]) == ("confirmed", 0)
    assert found["value"]["mean"] == pytest.approx(0.02), "the value keeps what was claimed"


def test_no_claimed_seed_counts_below_the_level_without_skill(client: TestClient, db: Database) -> None:
    """Hand computation: (.1 + .1 + .4) / 3 = .2. A measured mean of .15 is lower; the claim's own mean, .14, is not."""
    result(db, "none", [0.15, 0.15, 0.15], [10, 10, 10])
    accepted(client, [0.01, 0.01, 0.40])
    [claim, own] = board(client)["entries"]
    assert (claim["source"], claim["rank"], claim["score"]) == ("submitted", 1, pytest.approx(0.2))
    assert claim["value"]["mean"] == pytest.approx(0.14)
    assert (own["rank"], own["score"]) == (1, pytest.approx(0.15))


def test_equal_claimed_values_are_known_to_one_test_item(client: TestClient) -> None:
    """The test data has 300 images, or the first 100 of them."""
    for items, task in ((300, {}), (100, {"examples": 100})):
        got = accepted(client, [0.65] * 3, task={"name": "permuted_digits", "profile": "smoke", **task})
        assert got["value"]["ci95"] == pytest.approx([0.65 - 0.5 / items, 0.65 + 0.5 / items])
    assert accepted(client, [0.5, 1.0])["value"]["ci95"] == [0, 1]


def test_the_difference_of_a_claim_is_cut_to_possible_differences(client: TestClient, db: Database) -> None:
    got = accepted(client, [0.1])
    measured(db, [0.2, 0.9, 0.9])
    assert client.get(f"/v1/results/{got['id']}").json()["difference"]["ci95"] == [-1, 1]


def test_other_specs_and_failed_runs_do_not_judge_a_claim(client: TestClient, db: Database) -> None:
    got = accepted(client)
    measured(db, [0.83, 0.85, 0.82], method="none")
    for _ in submitted(db, "layer_norm", seeds=[5, 6, 7]).runs:
        failed(db, claimed(db).lease)
    assert state_of(client, got["id"]) == "claimed"


def test_a_withdrawn_result_leaves_the_board_but_not_earlier_boards(client: TestClient) -> None:
    got, kept = accepted(client), accepted(client, [0.5], "none")
    moment = kept["created_at"]
    answer = client.delete(f"/v1/results/{got['id']}")
    assert (answer.status_code, answer.json()["state"]) == (200, "withdrawn")
    assert client.delete(f"/v1/results/{got['id']}").json() == answer.json()
    assert client.get(f"/v1/results/{got['id']}").json()["withdrawn_at"] is not None
    assert [entry["result_id"] for entry in board(client)["entries"]] == [kept["id"]]
    assert [e["result_id"] for e in board(client, as_of=moment)["entries"]] == [got["id"], kept["id"]]
    assert board(client, as_of=got["created_at"].replace("20", "19", 1))["entries"] == []
    assert is_problem(client.delete("/v1/results/res_1"), 404)
    assert is_problem(client.get("/v1/results/res_1"), 404)


def test_results_are_listed_newest_first_and_can_be_filtered(client: TestClient, db: Database) -> None:
    first = accepted(client)
    measured(db, [0.83, 0.85, 0.82])
    second = accepted(client, method="none")
    third = accepted(client, task={"name": "sequential_digits", "profile": "smoke"})
    client.delete(f"/v1/results/{third['id']}")

    def ids(**query: Any) -> list[str]:
        answer = client.get("/v1/results", params=query)
        assert answer.status_code == 200, answer.text
        return [item["id"] for item in answer.json()["items"]]

    assert ids() == [third["id"], second["id"], first["id"]]
    assert ids(task="permuted_digits") == [second["id"], first["id"]]
    assert ids(method="none", profile="smoke") == [second["id"]]
    assert ids(fingerprint=first["fingerprint"][:8]) == [first["id"]]
    assert [ids(state=state) for state in ("confirmed", "claimed", "disputed", "withdrawn")] == [
        [first["id"]],
        [second["id"]],
        [],
        [third["id"]],
    ]
    page = client.get("/v1/results", params={"limit": 2}).json()
    assert page["next_cursor"] == second["id"]
    assert ids(limit=2, cursor=page["next_cursor"]) == [first["id"]]
    assert is_problem(client.get("/v1/results", params={"task": "permuted_digist"}), 422)
    assert is_problem(client.get("/v1/results", params={"state": "true"}), 422)


def test_a_claim_on_another_problem_is_on_the_board_of_that_problem(client: TestClient) -> None:
    got = accepted(client, [3.0], task={"name": "char_lm", "profile": "smoke", "corpus": "ptb"})
    shown = board(client, "char_lm")
    assert shown["entries"] == []
    [_, other] = shown["problems"]
    assert (other["id"], other["title"]) == (got["problem"], "corpus ptb")
    assert [e["result_id"] for e in board(client, "char_lm", problem=other["id"])["entries"]] == [got["id"]]


def test_boards_of_claims_are_listed_until_the_last_is_withdrawn(client: TestClient, db: Database) -> None:
    def listed() -> list[tuple[str, int, int, int]]:
        boards = client.get("/v1/leaderboards").json()["items"]
        return [(one["task"], one["n_entries"], one["n_runs"], one["n_claims"]) for one in boards]

    task = {"name": "char_lm", "profile": "smoke", "corpus": "ptb"}
    claims = [accepted(client, [3.0], task=task), accepted(client, [2.9], task=task)]
    measured(db, [0.8])
    accepted(client)
    assert listed() == [("char_lm", 0, 0, 2), ("permuted_digits", 1, 1, 1)]
    assert client.get("/v1/leaderboards").json()["items"][0]["problem"]["title"] == "corpus ptb"
    client.delete(f"/v1/results/{claims[0]['id']}")
    assert listed() == [("char_lm", 0, 0, 1), ("permuted_digits", 1, 1, 1)]
    client.delete(f"/v1/results/{claims[1]['id']}")
    assert listed() == [("permuted_digits", 1, 1, 1)]


def test_the_best_entry_of_each_method_is_chosen_among_measured_entries(client: TestClient, db: Database) -> None:
    for gain in (1.0, 0.5):
        ended(db, submitted(db, norm={"method": "layer_norm", "gain_init": gain}), {"value": 0.8})
    accepted(client)
    shown = [(e["source"], e["best_of"]) for e in board(client, entries="best")["entries"]]
    assert sorted(shown) == [("measured", 2), ("submitted", 1)]


def test_a_report_card_has_no_claims(client: TestClient, db: Database) -> None:
    accepted(client)
    result(db, "none", [0.6], [20])

    def standings(method: str) -> list[tuple[int, int]]:
        card = client.get(f"/v1/methods/{method}/report-card").json()
        return [(standing["rank"], standing["of"]) for standing in card["standings"]]

    assert (standings("layer_norm"), standings("none")) == ([], [(1, 1)])


def test_a_claim_is_judged_once_a_run_has_finished(client: TestClient, db: Database) -> None:
    """The cached board is made anew after a claim, and after a run that confirms the claim."""
    assert board(client)["entries"] == []
    accepted(client)
    assert len(board(client)["entries"]) == 1
    submitted(db, "layer_norm", seeds=[7, 8, 9])
    for _ in range(3):
        finished(db, claimed(db).lease, value=0.84)
    assert {e["source"]: e["state"] for e in board(client)["entries"]} == {"measured": None, "submitted": "confirmed"}


@pytest.mark.parametrize("field", ["source", "code", "hardware", "note"])
def test_a_password_in_an_address_is_refused(client: TestClient, field: str) -> None:
    said = errors_of(client, claim(provenance={**PROVENANCE, field: "https://ada:secret@example.org/log"}))
    assert list(said) == [f"provenance.{field}"]
    assert said[f"provenance.{field}"].startswith("everybody can read it; leave out the name and password")


def test_a_password_that_was_stored_before_is_not_shown(client: TestClient, db: Database) -> None:
    got = accepted(client)
    with db.transaction() as session:
        row = session.get(SubmittedResult, got["id"])
        assert row is not None
        row.provenance = {**row.provenance, "source": "https://ada:secret@example.org/log"}
    shown = client.get(f"/v1/results/{got['id']}").json()
    assert shown["provenance"] == {**PROVENANCE, "source": "https://example.org/log"}
    for path in (
        "/v1/results",
        "/v1/leaderboards/permuted_digits?profile=smoke",
        "/boards/permuted_digits?profile=smoke",
    ):
        assert "secret" not in client.get(path).text


def test_a_claim_whose_seeds_did_not_all_take_off_says_so(client: TestClient) -> None:
    accepted(client, [0.60, 0.95, 0.95])
    accepted(client, method="none")
    assert {entry["method"]: entry["gap"] for entry in board(client)["entries"]} == {"layer_norm": True, "none": False}


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_the_same_result_twice_at_the_same_instant_is_one(client: TestClient, db: Database) -> None:
    """The second request comes after the first has looked for an equal result, and before the first is stored."""
    written = read(claim())
    with ThreadPoolExecutor(1) as pool:
        with db.transaction() as session:
            first, _ = storing.store(session, written, request_digest="", idempotency_key=None)
            second = pool.submit(client.post, "/v1/results", json=claim())
            until(lambda: second.done() or waits_for_a_lock(db), 20, lambda: "it neither waits nor ends")
        answer = second.result(20)
    assert (answer.status_code, answer.json()["id"]) == (200, first.id)
    assert len(client.get("/v1/results").json()["items"]) == 1


def waits_for_a_lock(db: Database) -> bool:
    with db.snapshot() as session:
        return bool(session.scalar(text("SELECT count(*) FROM pg_locks WHERE NOT granted")))
