"""Comparisons on a terminal."""

from typer.testing import CliRunner

from normbench import Client
from normbench.cli import app
from service.db import Database
from tests.normbench.cli.commands import from_json, normbench
from tests.service.comparisons.test_routes import trained


def test_entries_stand_side_by_side_as_a_table_or_as_json(api: str, db: Database) -> None:
    none = trained(db, "none", [0.70, 0.72, 0.74], [20, 22, 24])
    norm = trained(db, "layer_norm", [0.80, 0.82, 0.81], [10, 11, 12])
    shown = normbench("compare", none[:8], norm[:8]).splitlines()
    assert shown[0].startswith("permuted_digits (smoke): higher is better")
    rows = [line.split() for line in shown]
    [baseline] = [row for row in rows if row[:1] == [f"{none[:8]}*"]]
    [own] = [row for row in rows if row[:1] == [norm[:8]]]
    assert baseline[1:3] == ["none", "0.720"]
    assert (own[1:3], own[5]) == (["layer_norm", "0.810"], "+0.090")
    assert "2.00x" in own
    found = from_json("compare", none, norm, "--baseline", norm)
    assert found["baseline"] == norm
    assert found == Client(api).compare(none, norm, baseline=norm)


def test_an_entry_that_is_not_there_is_named(api: str, db: Database) -> None:
    none = trained(db, "none", [0.7], [20])
    result = CliRunner().invoke(app, ["compare", none, "0" * 8])
    assert result.exit_code != 0
    assert "no entry has a fingerprint that begins with 00000000" in result.stderr
