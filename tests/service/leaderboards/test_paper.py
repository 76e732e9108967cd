"""A board on paper has the numbers of the page."""

import re

from starlette.testclient import TestClient

from service.db import Database
from service.leaderboards.paper import BOLD, write_day
from tests.service.http_calls import is_problem
from tests.service.leaderboards.boards import measured, result
from tests.service.paper.markdown_tables import SQLITE, on_paper, rows_of
from tests.service.sample_runs import submitted_result

PATH = "/v1/leaderboards/permuted_digits"
SMOKE = {"profile": "smoke"}


@SQLITE
def test_a_board_has_its_entries_with_ties_intervals_and_the_best_in_bold(client: TestClient, db: Database) -> None:
    result(db, "layer_norm", [0.80, 0.82, 0.81, 0.84, 0.83], [10, 11, 12, 13, 14])
    result(db, "rms_norm", [0.81, 0.81, 0.82, 0.83, 0.84], [10, 11, 12, 13, None])
    result(db, "none", [0.60, 0.61, 0.62, 0.60, 0.61], [None] * 5)
    submitted_result(db, "none", [0.9, 0.92])
    head, *rows = rows_of(on_paper(client, PATH, **SMOKE))
    assert head == ["Rank", "Method", "Test accuracy (%)", "95% interval", "n", "Steps to 20%", "Speed-up"]
    assert rows[0][:6] == ["1 (1–2)", "rms_norm", "**82.20**", "80.28 – 84.12", "5", "12"]
    assert rows[1][:6] == ["1 (1–2)", "layer_norm", "**82.00**", "79.67 – 84.33", "5", "12"]
    assert rows[2][:6] == ["3", "none", "60.80", "59.57 – 62.03", "5", "never"]
    assert [rows[3][0], rows[4][1:5]] == [
        "*Claimed: measured elsewhere*",
        ["none, disputed", "91.00", "69.80 – 100.00", "2"],
    ]


@SQLITE
def test_a_caption_says_what_the_numbers_are(client: TestClient, db: Database) -> None:
    result(db, "layer_norm", [0.80, 0.82, 0.81], [10, 11, 12])
    caption = on_paper(client, PATH, **SMOKE).splitlines()[0]
    assert caption.startswith(
        "Results on permuted_digits (smoke). Mean over n = 3 seeds with its 95% confidence interval"
    )
    assert BOLD in caption
    assert caption.endswith(f"normbench, {write_day()}.")
    assert "normbench, 31 Jan 2020." in on_paper(client, PATH, **SMOKE, as_of="2020-01-31T00:00:00Z")
    result(db, "none", [0.5, 0.6], [10, 11])
    assert "n = 2 to 3 seeds" in on_paper(client, PATH, **SMOKE)


@SQLITE
def test_a_board_by_time_has_the_best_time_in_bold(client: TestClient, db: Database) -> None:
    result(db, "layer_norm", [0.80, 0.82, 0.81, 0.84, 0.83], [10, 11, 12, 13, 14])
    result(db, "none", [0.80, 0.81, 0.82, 0.80, 0.81], [26, 27, 28, 29, 30])
    _, best, other = rows_of(on_paper(client, PATH, **SMOKE, rank_by="steps_to_target"))
    assert [best[k] for k in (1, 2, 5)] == ["layer_norm", "82.00", "**12**"]
    assert [other[k] for k in (0, 5)] == ["2", "28"]


@SQLITE
def test_too_few_and_diverged_seeds_are_told(client: TestClient, db: Database) -> None:
    result(db, "layer_norm", [0.80, None], [10, None])
    result(db, "none", [None, None, None], [None] * 3)
    text = on_paper(client, PATH, **SMOKE)
    assert "Too few seeds to rank." in text
    assert "**" not in text
    assert [row[:5] for row in rows_of(text)[1:]] == [
        ["–", "layer_norm", "80.00", "–", "2 (1 diverged)"],
        ["–", "none", "diverged", "–", "3 (3 diverged)"],
    ]


@SQLITE
def test_a_unit_stands_in_the_head(client: TestClient, db: Database) -> None:
    measured(db, {"task": {"name": "char_lm", "profile": "smoke"}}, 3.5, "bits_per_char")
    head, row = rows_of(on_paper(client, "/v1/leaderboards/char_lm", **SMOKE))
    assert (head[2], row[2]) == ("Test bits per char (bits)", "3.5000")


@SQLITE
def test_columns_without_values_are_left_out(client: TestClient) -> None:
    published = {"profile": "paper", "published": "true"}
    head, _, row, *_ = rows_of(on_paper(client, "/v1/leaderboards/permuted_mnist", **published))
    assert head == ["Rank", "Method", "Test accuracy (%)", "95% interval", "n"]
    assert row == ["1", "BN-LSTM (RBN, Table 1)", "95.40", "–", "–"]


@SQLITE
def test_a_board_without_entries_says_so(client: TestClient) -> None:
    assert "{No entries on permuted\\_digits (smoke) yet.}" in on_paper(client, PATH, "latex", **SMOKE)
    assert "| No entries on permuted_digits (smoke) yet. |" in on_paper(client, PATH, **SMOKE)
    assert "| No method has reached a target at smoke yet. |" in on_paper(client, "/v1/leaderboards/overall", **SMOKE)


@SQLITE
def test_all_boards_have_a_row_for_each_method(client: TestClient, db: Database) -> None:
    result(db, "layer_norm", [0.8, 0.8], [10, 12])
    result(db, "none", [0.8], [22])
    head, *rows = rows_of(on_paper(client, "/v1/leaderboards/overall", **SMOKE))
    assert head == ["Rank", "Method", "Area", "Fastest", "permuted_digits"]
    assert rows == [["1", "layer_norm", "**1.000**", "1", "1.00"], ["2", "none", rows[1][2], "0", "2.00"]]


@SQLITE
def test_paper_formats_are_files_and_can_be_asked_for_by_accept(client: TestClient) -> None:
    answer = client.get(PATH, params={"profile": "smoke"}, headers={"Accept": "application/x-tex"})
    assert answer.headers["content-type"] == "application/x-tex"
    assert answer.headers["content-disposition"] == 'attachment; filename="permuted_digits-smoke.tex"'
    assert re.search(r"^% http://testserver/v1/leaderboards/permuted_digits\?profile=smoke$", answer.text, re.MULTILINE)
    assert client.get(PATH, headers={"Accept": "text/markdown"}).headers["content-disposition"].endswith('.md"')


@SQLITE
def test_formats_that_there_are_not_are_refused_with_the_list(client: TestClient) -> None:
    answer = client.get(PATH, params={"format": "docx"})
    assert is_problem(answer, 422)
    assert all(format in answer.text for format in ("json", "csv", "parquet", "latex", "markdown"))
    for accept in ("text/html", "text/csv;q=0", "text/csv;q=much"):
        answer = client.get(PATH, headers={"Accept": accept})
        assert is_problem(answer, 406)
        assert "text/markdown (format=markdown)" in answer.json()["detail"]
    listed = client.get("/v1/experiments", headers={"Accept": "text/markdown"})
    assert is_problem(listed, 406)
    assert "format=latex" not in listed.json()["detail"]
    assert is_problem(client.get("/v1/experiments", params={"format": "latex"}), 422)
