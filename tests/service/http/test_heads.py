"""Addresses and headers that no client of ours sends are refused before other code reads them."""

from typing import Any

import pytest
from starlette.testclient import TestClient

from service.http.heads import MAX_HEADERS, MAX_PARAMETERS, MAX_PATH, MAX_VALUE

Pair = tuple[str, str | int | float | bool | None]  # as the client's parameters are typed


def test_a_request_with_more_parameters_than_the_limit_is_refused(shared_client: TestClient) -> None:
    known: list[Pair] = [("label", "a:b"), ("unknown", "1")]
    again: Pair = ("label", "a:b")
    answer = shared_client.get("/v1/experiments", params=[*known, *[again] * (MAX_PARAMETERS - 2)])
    assert [error["loc"] for error in answer.json()["errors"]] == [["unknown"]]
    answer = shared_client.get("/v1/experiments", params=[*known, *[again] * (MAX_PARAMETERS - 1)])
    assert answer.status_code == 422
    [error] = answer.json()["errors"]
    assert (error["loc"], error["type"]) == (["label"], "too_many")


def test_more_labels_than_an_experiment_has_are_refused(shared_client: TestClient) -> None:
    asked: list[Pair] = [("label", f"k{k}:v") for k in range(33)]
    assert shared_client.get("/v1/experiments", params=asked[:32]).status_code == 200
    answer = shared_client.get("/v1/experiments", params=asked)
    assert answer.status_code == 422
    assert [(error["loc"], error["msg"]) for error in answer.json()["errors"]] == [(["label"], "give 32 or fewer")]
    page = shared_client.get("/experiments", params=asked)
    assert page.status_code == 422
    assert "give 32 or fewer" in page.text.lower()


@pytest.mark.parametrize(
    ("label", "status"), [("a:" + 256 * "x", 200), ("a:" + 257 * "x", 422), (65 * "x" + ":a", 422)]
)
def test_a_label_filter_may_be_as_long_as_a_label_of_an_experiment(
    shared_client: TestClient, label: str, status: int
) -> None:
    assert shared_client.get("/v1/experiments", params={"label": label}).status_code == status


def test_a_parameter_that_is_too_long_is_named(shared_client: TestClient) -> None:
    answer = shared_client.get("/v1/experiments", params={"limit": "1", "sweep": MAX_VALUE * "x"})
    assert answer.status_code == 422
    assert [(error["loc"], error["type"]) for error in answer.json()["errors"]] == [(["sweep"], "too_long")]


TOO_LONG: dict[str, dict[str, Any]] = {
    "an address": {"url": "/v1/runs/" + MAX_PATH * "x"},
    "a header": {"url": "/v1/runs", "headers": {"Accept": MAX_VALUE * "x"}},
    "headers": {"url": "/v1/runs", "headers": {f"X-{k}": "1" for k in range(MAX_HEADERS)}},
}


@pytest.mark.parametrize("request_", TOO_LONG.values(), ids=TOO_LONG)
def test_a_long_address_or_header_is_refused_in_few_words(shared_client: TestClient, request_: dict[str, Any]) -> None:
    answer = shared_client.get(**request_)
    assert answer.status_code == 400
    assert answer.headers["content-type"] == "application/problem+json"
    assert len(answer.content) < 300
