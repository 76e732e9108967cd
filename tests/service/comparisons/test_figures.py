"""Figures of boards and comparisons over HTTP."""

import re
from itertools import pairwise
from typing import Any

import pytest
from starlette.testclient import TestClient

from service.comparisons.figures import choose_points
from service.comparisons.schemas import Curve
from service.db import Database
from tests.service.comparisons.test_routes import ACCURACIES, trained
from tests.service.http_calls import is_problem


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


def test_curves_of_a_board_are_those_of_its_entries_best_first(client: TestClient, two: tuple[str, str]) -> None:
    got = figure(client, "/v1/leaderboards/permuted_digits/figures/curves", profile="smoke", theme="dark")
    assert list(lines(got)) == ["layer_norm", "none"]
    assert lines(got)["layer_norm"]["x"] == [10, 20, 30, 40]
    assert lines(got)["layer_norm"]["y"] == [0.1, 0.2, 0.3, 0.4]
    assert got["layout"]["paper_bgcolor"] == "#171b21"
    by_seconds = figure(client, "/v1/leaderboards/permuted_digits/figures/curves", profile="smoke", x="seconds")
    assert lines(by_seconds)["none"]["x"][-1] == 4.0
    assert by_seconds["layout"]["xaxis"]["title"]["text"] == "training seconds"


def test_intervals_of_a_board_are_those_of_its_entries(client: TestClient, two: tuple[str, str]) -> None:
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
def test_an_unknown_figure_is_not_found(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert is_problem(answer, 404)
    assert "choose from" in answer.json()["detail"] or "permuted_digits" in answer.json()["detail"]


def test_curves_are_thinned_evenly_and_end_where_they_should() -> None:
    x = [float(k) for k in range(1000)]
    curve = Curve(x, x, x, [*x], [*x], [5] * 1000)
    kept = choose_points(curve)
    assert (len(kept), kept[0], kept[-1]) == (400, 0, 999)
    assert max(b - a for a, b in pairwise(kept)) <= 3
    assert choose_points(curve, end=9) == list(range(10))


@pytest.fixture
def tuned(db: Database) -> tuple[str, str]:
    """Fingerprints of ``none`` and of layer norm, which has one entry; this entry departs from the profile."""
    none = trained(db, "none", [v - 0.1 for v in reversed(ACCURACIES)], [20, 22, 24, 26, 28])
    training = {"optimizer": {"lr": 0.004}}
    return none, trained(db, "layer_norm", [*ACCURACIES], [10, 11, 12, 13, 14], training=training)


@pytest.mark.parametrize("name", ["curves", "differences", "survival", "speedups"])
def test_figures_of_a_comparison_name_departures_from_the_profile(
    client: TestClient, tuned: tuple[str, str], name: str
) -> None:
    got = figure(client, f"/v1/comparisons/figures/{name}", fingerprint=tuned)
    named = {trace["name"].partition(":")[0] for trace in got["data"] if "layer_norm" in trace.get("name", "")}
    assert named == {"layer_norm (lr 0.004)"}


@pytest.mark.parametrize("name", ["curves", "intervals"])
def test_figures_of_a_board_name_departures_from_the_profile(
    client: TestClient, tuned: tuple[str, str], name: str
) -> None:
    got = figure(client, f"/v1/leaderboards/permuted_digits/figures/{name}", profile="smoke", entries="best")
    assert {trace["name"] for trace in got["data"] if trace.get("name")} == {"layer_norm (lr 0.004)", "none"}


def test_no_two_entries_of_a_comparison_share_a_name(client: TestClient, db: Database) -> None:
    """The names differ even if an option of the norm and one of the optimizer have the same last name and the same
    value.
    """
    parts: list[dict[str, Any]] = [
        {},
        {"norm": {"method": "layer_norm", "eps": 1e-9}},
        {"training": {"optimizer": {"name": "adam", "lr": 0.001, "eps": 1e-9}}},
        {"training": {"optimizer": {"lr": 0.00400000001}}},
        {"training": {"optimizer": {"lr": 0.00400000002}}},
    ]
    fingerprints = [trained(db, "layer_norm", [0.5, 0.6], [10, 20], **one) for one in parts]
    got = figure(client, "/v1/comparisons/figures/curves", fingerprint=fingerprints)
    assert len(lines(got)) == len(parts)
    assert {"layer_norm", "layer_norm (norm.eps 1e-09)"} <= lines(got).keys()


BOARD = "/v1/leaderboards/permuted_digits/figures"
PRINTED = {"svg": "image/svg+xml", "pdf": "application/pdf", "png": "image/png"}


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_figures_come_as_files_in_the_width_of_a_column(client: TestClient, two: tuple[str, str]) -> None:
    for format, media_type in PRINTED.items():
        answer = client.get(f"{BOARD}/intervals", params={"profile": "smoke", "format": format})
        assert answer.headers["content-type"] == media_type
        named = f'attachment; filename="permuted_digits-smoke-intervals.{format}"'
        assert answer.headers["content-disposition"] == named
        dark = client.get(f"{BOARD}/intervals", params={"profile": "smoke", "format": format, "theme": "dark"})
        assert dark.content == answer.content, "paper is light"
    assert b'width="486pt"' in client.get(f"{BOARD}/curves?profile=smoke&format=svg&width=6.75in").content
    for name in ("curves", "differences", "speedups", "survival"):
        answer = client.get(f"/v1/comparisons/figures/{name}", params={"fingerprint": two, "format": "svg"})
        assert answer.headers["content-disposition"].endswith(f'"comparison-permuted_digits-smoke-{name}.svg"')
    answer = client.get("/v1/leaderboards/overall/figures/profiles?profile=smoke&format=svg&width=83mm")
    assert re.search(rb'width="235\.27\d*pt"', answer.content)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_wrong_width_or_format_of_a_figure_is_refused(client: TestClient) -> None:
    for query, word in (("format=svg&width=0in", "3.25in"), ("width=3in", "format="), ("format=gif", "svg")):
        answer = client.get(f"{BOARD}/curves?profile=smoke&{query}")
        assert is_problem(answer, 422)
        [error] = answer.json()["errors"]
        assert error["loc"] == ["format" if "gif" in query else "width"]
        assert word in error["msg"]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_board_without_entries_has_figures_without_lines(client: TestClient) -> None:
    for name in ("curves", "intervals"):
        assert client.get(f"{BOARD}/{name}?profile=smoke&format=svg").status_code == 200
