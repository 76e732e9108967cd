"""Invalid requests, by mistake or by malice: refused by field, and nothing is stored."""

import json
from typing import Any

import pytest
from sqlalchemy import func, select
from starlette.testclient import TestClient

from service.experiments.tables import Experiment, Label, Run
from tests.service.sample_runs import written


def stored(client: TestClient) -> list[int | None]:
    with client.app.state.db.snapshot() as session:  # type: ignore[attr-defined]
        return [session.scalar(select(func.count()).select_from(table)) for table in (Experiment, Run, Label)]


def refused(client: TestClient, *statuses: int, **request: Any) -> dict[str, Any]:
    """Send a request that must be refused; check that nothing is stored, and return the problem."""
    before = stored(client)
    answer = client.post("/v1/experiments", **request)
    assert answer.status_code in statuses, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    problem: dict[str, Any] = answer.json()
    assert problem["status"] == answer.status_code
    assert problem["type"]
    assert problem["title"]
    assert problem["detail"]
    assert stored(client) == before
    return problem


def as_json(body: Any) -> bytes:
    return json.dumps(body).encode()


def char_lm(**task: Any) -> dict[str, Any]:
    return {"task": {"name": "char_lm", "profile": "smoke", **task}}


def digits(**parts: Any) -> dict[str, Any]:
    return written("layer_norm", **parts)


def training(**fields: Any) -> dict[str, Any]:
    return digits(training=fields)


# Other wrong fields: tests/normcore/spec/test_resolve.py, test_misfits.py
WRONG_FIELDS: list[tuple[str, dict[str, Any], list[str | int]]] = [
    ("no task", {"norm": {"method": "none"}}, ["task"]),
    ("profile is a list", {"task": {"name": "permuted_digits", "profile": []}}, ["task", "profile"]),
    ("profile is null", {"task": {"name": "permuted_digits", "profile": None}}, ["task", "profile"]),
    ("empty field name", digits(**{"": 1}), [""]),
    ("field name with NUL", digits(**{"a\0b": 1}), ["a\0b"]),
    ("field name with a lone surrogate", digits(**{"\ud800": 1}), []),
    ("norm is a list", {**digits(), "norm": []}, ["norm"]),
    ("norm is null", {**digits(), "norm": None}, ["norm"]),
    ("method is an object", {**digits(), "norm": {"method": {}}}, ["norm", "method"]),
    ("method with a lone surrogate", {**digits(), "norm": {"method": "\udc00"}}, ["norm", "method"]),
    ("option of another method", {**digits(), "norm": {"method": "none", "eps": 1e-5}}, ["norm", "eps"]),
    ("gain is text", {**digits(), "norm": {"method": "layer_norm", "gain_init": "0.1"}}, ["norm", "gain_init"]),
    ("gain is a truth value", {**digits(), "norm": {"method": "layer_norm", "gain_init": True}}, ["norm", "gain_init"]),
    (
        "a site that no model has",
        {**digits(), "norm": {"method": "recurrent_batch_norm", "sites": ["input", "outputs"]}},
        ["norm", "sites", 1],
    ),
    (
        "a site of other models",
        {**digits(), "norm": {"method": "recurrent_batch_norm", "sites": ["input", "output"]}},
        ["norm", "sites"],
    ),
    ("unknown corpus", char_lm(corpus="text9"), ["task", "corpus"]),
    ("a version to come", digits(spec_version=1000), ["spec_version"]),
    ("unknown cell", digits(model={"cell": "elman"}), ["model", "cell"]),
    ("half a unit", digits(model={"hidden_size": 1.5}), ["model", "hidden_size"]),
    ("units beyond all memory", digits(model={"hidden_size": 10**400}), ["model", "hidden_size"]),
    (
        "forget bias of a cell without gates",
        digits(model={"cell": "rnn", "forget_bias": 1.0}),
        ["model", "forget_bias"],
    ),
    ("no batch", training(batch_size=0), ["training", "batch_size"]),
    ("batch as text", training(batch_size="32"), ["training", "batch_size"]),
    ("no steps", training(max_steps=0), ["training", "max_steps"]),
    ("steps beyond any life", training(max_steps=2**63), ["training", "max_steps"]),
    ("clip at nothing", training(clip_norm=0), ["training", "clip_norm"]),
    ("unknown precision", training(precision="float16"), ["training", "precision"]),
    ("kernel of no such precision", training(kernel="fused", precision="float64"), ["training", "kernel"]),
    ("negative rate", training(optimizer={"lr": -1e-3}), ["training", "optimizer", "lr"]),
    ("rate of nothing", training(optimizer={"lr": 0}), ["training", "optimizer", "lr"]),
    ("rate as text", training(optimizer={"name": "adam", "lr": "fast"}), ["training", "optimizer", "lr"]),
    ("rate beyond every float", training(optimizer={"lr": 10**400}), ["training", "optimizer", "lr"]),
    ("momentum of one", training(optimizer={"momentum": 1}), ["training", "optimizer", "momentum"]),
    ("optimizer is null", training(optimizer=None), ["training", "optimizer"]),
    ("optimizer is a list", training(optimizer=["adam"]), ["training", "optimizer"]),
    ("no seeds", digits(seeds=[]), ["seeds"]),
    ("huge seed", digits(seeds=[2**31]), ["seeds", 0]),
    ("seed as float", digits(seeds=[1.0]), ["seeds", 0]),
    ("seed is a truth value", digits(seeds=[True]), ["seeds", 0]),
    ("too many seeds", digits(seeds=range(1001)), ["seeds"]),
    ("unknown device", digits(device="tpu"), ["device"]),
    ("priority beyond nine", digits(priority=10), ["priority"]),
    ("label key with a newline", digits(labels={"team\n": "a"}), ["labels", "team\n"]),
    ("label key with a lone surrogate", digits(labels={"\ud800": "a"}), ["labels"]),
    ("label value is a number", digits(labels={"team": 3}), ["labels", "team"]),
    ("label value with NUL", digits(labels={"team": "a\0b"}), ["labels", "team"]),
    ("label value with a lone surrogate", digits(labels={"team": "\ud83d"}), ["labels", "team"]),
    ("label value too long", digits(labels={"team": "a" * 257}), ["labels", "team"]),
    ("too many labels", digits(labels={f"k{n}": "v" for n in range(33)}), ["labels"]),
    ("file outside by a detour", char_lm(corpus="file", file="a/../../secret.txt"), ["task", "file"]),
    ("file at the root", char_lm(corpus="file", file="/etc/passwd"), ["task", "file"]),
    ("file name with NUL", char_lm(corpus="file", file="a\0b"), ["task", "file"]),
    ("file name with a lone surrogate", char_lm(corpus="file", file="\ud800"), ["task"]),
    ("file name beyond the file system", char_lm(corpus="file", file="a" * 400), ["task"]),
    ("file name beyond all use", char_lm(corpus="file", file="a" * 501), ["task", "file"]),
    ("file that is not there", char_lm(corpus="file", file="mine.txt"), ["task", "file"]),
    ("file is a directory", char_lm(corpus="file", file="."), ["task", "file"]),
    ("less to evaluate on than two examples", char_lm(sequence_length=20, test_chars=39), ["task", "test_chars"]),
    ("the name of an option of old", char_lm(eval_chars=400), ["task", "eval_chars"]),
    (
        "examples longer than the text",
        char_lm(sequence_length=90_000, valid_chars=None, test_chars=None),
        ["task", "sequence_length"],
    ),
]


@pytest.mark.parametrize(("body", "loc"), [pytest.param(*fields, id=name) for name, *fields in WRONG_FIELDS])
def test_a_wrong_field_is_named_and_nothing_is_stored(
    shared_client: TestClient, body: dict[str, Any], loc: list[str | int]
) -> None:
    problem = refused(shared_client, 422, content=as_json(body))
    assert any(error["loc"][: len(loc)] == loc for error in problem["errors"]), problem
    assert all(error["msg"] and error["type"] for error in problem["errors"])


def test_a_near_miss_is_answered_with_what_was_meant(shared_client: TestClient) -> None:
    problem = refused(shared_client, 422, json={**digits(), "norm": {"method": "layer_nrom"}})
    assert "layer_norm" in problem["errors"][0]["msg"]
    problem = refused(shared_client, 422, json=training(optimiser={}))
    assert "optimizer" in problem["errors"][0]["msg"]


@pytest.mark.parametrize(
    ("task", "dataset", "field"),
    [("permuted_mnist", "mnist", "name"), ("char_lm", "ptb", "corpus"), ("gradient_flow", "mnist", "images")],
)
def test_a_missing_data_set_is_named_with_its_field_and_how_to_get_it(
    shared_client: TestClient, task: str, dataset: str, field: str
) -> None:
    problem = refused(shared_client, 422, json={"task": {"name": task, "profile": "paper"}})
    assert [error["loc"] for error in problem["errors"]] == [["task", field]]
    assert f"'{dataset}'" in problem["detail"]
    assert f"normbench data fetch {dataset}" in problem["detail"]


@pytest.mark.parametrize("content", [b"[]", b"null", b'"permuted_digits"', b"{}"])
def test_a_body_that_is_json_and_no_spec_is_invalid(shared_client: TestClient, content: bytes) -> None:
    assert refused(shared_client, 422, content=content)["errors"]


@pytest.mark.parametrize("key", ["", "k" * 256])
def test_an_idempotency_key_must_have_1_to_255_characters(shared_client: TestClient, key: str) -> None:
    problem = refused(shared_client, 422, json=digits(), headers={"Idempotency-Key": key})
    assert [error["loc"] for error in problem["errors"]] == [["idempotency-key"]]


BAD_QUERIES: list[tuple[str, str]] = [
    ("/v1/experiments?limit=0", "limit"),
    ("/v1/experiments?limit=201", "limit"),
    ("/v1/experiments?limit=-1", "limit"),
    ("/v1/experiments?limit=ten", "limit"),
    ("/v1/experiments?limit=99999999999999999999999", "limit"),
    ("/v1/experiments?state=done", "state"),
    ("/v1/experiments?label=team", "label"),
    ("/v1/experiments?label=a:b&label=", "label"),
    *(("/v1/experiments?cursor=" + cursor, "cursor") for cursor in ("", "!", "exp_1", "ü", "exp_" + "0" * 26 + "%0A")),
    ("/v1/runs/{run}/measurements?max_points=3", "max_points"),
    ("/v1/runs/{run}/measurements?max_points=100001", "max_points"),
    ("/v1/runs/{run}/measurements?max_points=many", "max_points"),
]


@pytest.mark.parametrize(("path", "name"), BAD_QUERIES)
def test_a_bad_query_parameter_is_named(shared_client: TestClient, path: str, name: str) -> None:
    answer = shared_client.get(path.format(run="run_nope"))
    assert answer.status_code == 422, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert [error["loc"][0] for error in answer.json()["errors"]] == [name]


@pytest.mark.parametrize("shared_client", ["sqlite", "postgresql"], indirect=True)
@pytest.mark.parametrize("path", ["/v1/experiments/%ff%fe", "/v1/experiments?method=%ed%a0%80"])
def test_characters_that_no_database_knows_are_never_a_server_error(shared_client: TestClient, path: str) -> None:
    answer = shared_client.get(path)
    assert answer.status_code in (200, 400, 404, 422), answer.text
    if answer.status_code != 200:
        assert answer.headers["content-type"] == "application/problem+json"
    else:
        assert answer.json()["items"] == []


@pytest.mark.parametrize(
    "path",
    [
        "/v1/experiments/%00",
        "/v1/runs/run_%00/artifacts/a",
        "/v1/tasks/a%00b",
        "/v1/experiments?task=%00",
        "/v1/experiments?label=a&label=b:%00",
        "/v1/experiments?a%00b=1",
    ],
)
def test_an_address_with_a_nul_is_a_bad_request(shared_client: TestClient, path: str) -> None:
    answer = shared_client.get(path)
    assert answer.status_code == 400, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert "NUL" in answer.json()["detail"]


def test_an_escaped_percent_sign_before_two_zeros_is_not_a_nul(shared_client: TestClient) -> None:
    assert shared_client.get("/v1/experiments?label=a:%2500").json()["items"] == []
