"""Figures of boards and comparisons over HTTP."""

from itertools import pairwise
from typing import Any

import pytest
from starlette.testclient import TestClient

from service.comparisons.figures import described, thinned
from service.comparisons.schemas import Curve
from service.db import Database
from tests.service.asked import is_problem
from tests.service.comparisons.test_routes import ACCURACIES, trained


@pytest.fixture
def two(db: Database) -> tuple[str, str]:
    none = trained(db, "none", [v - 0.1 for v in reversed(ACCURACIES)], [20, 22, 24, 26, 28])
    return none, trained(db, "layer_norm", [*ACCURACIES], [10, 11, 12, 13, 14], pace=0.125)


def figure(client: TestClient, path: str, **query: Any) -> dict[str, Any]:
    answer = client.get(path, params=query)
    assert answer.status_code == 200, answer.text
    content: dict[str, Any] = answer.json()
    return content


def lines(content: dict[str, Any]) -> dict[str, Any]:
    return {trace["name"]: trace for trace in content["data"] if trace.get("showlegend", True)}


def test_a_boards_curves_are_those_of_its_entries_best_first(client: TestClient, two: tuple[str, str]) -> None:
    got = figure(client, "/v1/leaderboards/permuted_digits/figures/curves", profile="smoke", theme="dark")
    assert list(lines(got)) == ["layer_norm", "none"]
    assert lines(got)["layer_norm"]["x"] == [10, 20, 30, 40]
    assert lines(got)["layer_norm"]["y"] == [0.1, 0.2, 0.3, 0.4]
    assert got["layout"]["paper_bgcolor"] == "#171b21"
    by_seconds = figure(client, "/v1/leaderboards/permuted_digits/figures/curves", profile="smoke", x="seconds")
    assert lines(by_seconds)["none"]["x"][-1] == 4.0
    assert by_seconds["layout"]["xaxis"]["title"]["text"] == "training seconds"


def test_a_boards_intervals_are_the_entries_values(client: TestClient, two: tuple[str, str]) -> None:
    got = figure(client, "/v1/leaderboards/permuted_digits/figures/intervals", profile="smoke")
    assert [trace["x"] for trace in got["data"]] == [[pytest.approx(0.82)], [pytest.approx(0.72)]]
    assert got["layout"]["shapes"][0]["x0"] == pytest.approx(0.72), "the baseline"


def test_all_boards_have_performance_profiles(client: TestClient, two: tuple[str, str]) -> None:
    got = figure(client, "/v1/leaderboards/overall/figures/profiles", profile="smoke")
    assert [trace["name"] for trace in got["data"]] == ["layer_norm", "none"]
    assert got["data"][0]["y"][0] == 1.0
    assert got["data"][1]["y"][:2] == [0.0, 1.0]


@pytest.mark.parametrize(
    ("name", "x"),
    [("differences", [0.1]), ("survival", [0, 10, 11, 12, 13, 14, 28])],
)
def test_a_comparisons_figures_show_its_numbers(
    client: TestClient, two: tuple[str, str], name: str, x: list[float]
) -> None:
    got = figure(client, f"/v1/comparisons/figures/{name}", fingerprint=two)
    trace = next(trace for trace in got["data"] if trace["name"] == "layer_norm")
    assert trace["x"] == pytest.approx(x)


def test_a_speed_up_is_split_on_a_logarithmic_axis(client: TestClient, two: tuple[str, str]) -> None:
    got = figure(client, "/v1/comparisons/figures/speedups", fingerprint=two)
    assert [trace["name"] for trace in got["data"]] == [
        "layer_norm: in seconds",
        "layer_norm: in steps",
        "layer_norm: speed of a step",
    ]
    total, steps, pace = (trace["x"][0] for trace in got["data"])
    assert (steps, pace) == (pytest.approx(2.0, rel=0.01), pytest.approx(0.8))
    assert total == pytest.approx(steps * pace)
    assert got["layout"]["xaxis"]["type"] == "log"


@pytest.mark.parametrize(
    "path",
    [
        "/v1/leaderboards/permuted_digits/figures/pie",
        "/v1/leaderboards/no_task/figures/curves",
        "/v1/leaderboards/overall/figures/curves",
        "/v1/comparisons/figures/pie?fingerprint=00000000&fingerprint=11111111",
    ],
)
def test_a_figure_that_there_is_not_is_not_found(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert is_problem(answer, 404)
    assert "choose from" in answer.json()["detail"] or "permuted_digits" in answer.json()["detail"]


def test_curves_are_thinned_evenly_and_end_where_they_should() -> None:
    x = [float(k) for k in range(1000)]
    curve = Curve(x, x, x, [*x], [*x], [5] * 1000)
    kept = thinned(curve)
    assert (len(kept), kept[0], kept[-1]) == (400, 0, 999)
    assert max(b - a for a, b in pairwise(kept)) <= 3
    assert thinned(curve, end=9) == list(range(10))


def test_what_a_spec_changes_is_told_by_its_last_names() -> None:
    assert described({"norm.gain_init": 1.0, "model.cell": "gru"}) == "cell gru, gain_init 1.0"
