"""A report card as files: a row for each finding for programs, and tables for papers."""

import csv
import io
import json

from starlette.testclient import TestClient

from normcore.events import Finding
from service.db import Database
from service.report_cards.columns import FILE_EXAMPLE
from tests.service.leaderboards.boards import result
from tests.service.paper.markdown_tables import SQLITE, on_paper, rows_of
from tests.service.sample_runs import analysed

PATH = "/v1/methods/layer_norm/report-card"
NORM = {"method": "layer_norm"}


@SQLITE
def test_a_card_without_results_says_so(client: TestClient) -> None:
    assert "{layer\\_norm is on no leaderboard yet.}" in on_paper(client, PATH, "latex")
    [_, empty] = rows_of(on_paper(client, PATH))
    assert empty[0] == "layer_norm is on no leaderboard yet."


@SQLITE
def test_a_card_has_standings_costs_and_invariances(client: TestClient, db: Database) -> None:
    result(db, "layer_norm", [0.80, 0.82, 0.81], [10, 11, 12])
    result(db, "none", [0.60, 0.61, 0.62], [20, 21, 22])
    analysed(db, {"task": {"name": "invariances"}, "norm": NORM}, INVARIANCE)
    cost = {"task": {"name": "step_cost"}, "model": {"cell": "lstm"}, "norm": NORM}
    analysed(db, cost, *(Finding(name, value, "times") for name, value in COST.items()))
    flow = {"task": {"name": "gradient_flow"}, "model": {"cell": "lstm"}, "norm": NORM}
    analysed(db, flow, *(Finding(f"gradient_norm.{g}", 1.0, "x", "steady", parameters={"gain": g}) for g in (0.1, 1.0)))
    text = on_paper(client, PATH)
    rows = rows_of(text)
    assert rows[0] == ["Leaderboard", "Rank", "Measure", "Mean", "95% interval", "n"]
    assert rows[1] == ["permuted_digits (smoke)", "1 of 2", "test accuracy (%)", "**81.00**", "77.74 – 84.26", "3"]
    assert rows[2:4] == [
        ["Cell", "Training step", "95% interval", "Smallest batch", "Gradients"],
        ["lstm", "×1.46", "1.40 – 1.52", "–", "steady at 0.1, 1"],
    ]
    assert rows[4:] == [
        ["Change", "Measured", "Claimed", "Deviation"],
        ["weight matrix rescaling", "invariant", "invariant", "4.2e-07"],
    ]
    assert on_paper(client, PATH, "latex").count("\\begin{tabular}") == 3


INVARIANCE = Finding("weight_matrix_rescaling", 4.2e-7, "deviation", "invariant").against(
    "invariant", True, "LN, Table 1"
)
COST = {"ratio": 1.46, "ratio.low": 1.4, "ratio.high": 1.52}


@SQLITE
def test_a_csv_has_a_row_for_each_finding(client: TestClient, db: Database) -> None:
    run_id = analysed(db, {"task": {"name": "invariances"}, "norm": NORM}, INVARIANCE)
    answer = client.get(PATH, params={"format": "csv"})
    assert answer.headers["content-disposition"] == 'attachment; filename="report-card-layer_norm.csv"'
    [row] = csv.DictReader(io.StringIO(answer.text, newline=""))
    assert (row["analysis"], row["cell"], row["run_id"], row["device"]) == ("invariances", "", run_id, "cpu")
    assert (row["finding"], float(row["value"]), row["verdict"]) == ("weight_matrix_rescaling", 4.2e-7, "invariant")
    assert (row["claim"], row["holds"], row["source"]) == ("invariant", "true", "LN, Table 1")
    assert json.loads(row["parameters"]) == {}
    assert set(next(csv.reader([FILE_EXAMPLE.splitlines()[0]]))) <= set(row)
