"""Results that were measured elsewhere, on the terminal and in Python."""

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from normbench import Client
from normbench.cli import app
from normbench.cli.claims import EXAMPLE
from normbench.errors import Conflict, Invalid
from normcore.spec.files import load_yaml
from service.db import Database
from tests.normbench.cli.commands import from_json, normbench
from tests.service.sample_runs import claimed, finished, submitted

CLAIM = """
task: {name: permuted_digits, profile: smoke}
norm: {method: layer_norm}
values: [{seed: 0, value: 0.80}, {seed: 1, value: 0.84}, {seed: 2, value: 0.88}]
provenance: {source: "https://example.org/log", hardware: a laptop}
"""


@pytest.fixture
def claim_file(tmp_path: Path) -> Path:
    path = tmp_path / "claim.yaml"
    path.write_text(CLAIM)
    return path


def test_a_claim_is_submitted_shown_judged_and_withdrawn(api: str, claim_file: Path, db: Database) -> None:
    lines = normbench("claim", claim_file, "--idempotency-key", "k").splitlines()
    id, _, state = lines[0].partition(": ")
    assert state == "claimed"
    assert "unknown until 3 other seeds ran here" in lines[-1]
    assert from_json("claim", claim_file, "--idempotency-key", "k")["id"] == id
    board = normbench("leaderboard", "permuted_digits", "--profile", "smoke")
    assert "layer_norm, claimed  https://example.org/log" in board
    assert "0.840 [0.710, 0.970]" in board

    submitted(db, seeds=[7, 8, 9])
    for value in (0.83, 0.85, 0.82):
        finished(db, claimed(db).lease, value=value)
    [row] = [line.split() for line in normbench("claims").splitlines() if id in line]
    assert row[:5] == [id, "permuted_digits", "smoke", "layer_norm", "confirmed"]
    assert "+0.007" in row
    assert [claim["id"] for claim in from_json("claims", "--state", "confirmed", "--task", "permuted_digits")] == [id]
    assert from_json("claims", "--method", "none") == []

    assert normbench("withdraw", id) == f"{id}: withdrawn\n"
    assert "example.org" not in normbench("leaderboard", "permuted_digits", "--profile", "smoke")


def test_errors_of_a_claim_are_told_by_file_and_field(api: str, claim_file: Path, tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(CLAIM.replace("0.88", "88"))
    told = normbench("claim", wrong, status=2)
    assert told.startswith(f"normbench: {wrong}: values.2.value: accuracy is 0 to 1, and cannot be 88")
    wrong.write_text(CLAIM.replace("0.88", ".nan"))
    told = normbench("claim", wrong, status=2)
    finite = "the result holds NaN, which JSON cannot; give a finite number"
    assert told == f"normbench: {wrong}: values.2.value: {finite}\n"
    normbench("claim", claim_file, "--idempotency-key", "k")
    wrong.write_text(CLAIM.replace("0.88", "0.87"))
    assert normbench("claim", wrong, "--idempotency-key", "k", status=2).startswith(f"normbench: {wrong}: ")
    assert "no such file" in normbench("claim", tmp_path / "none.yaml", status=2).lower()
    assert "res_1" in normbench("withdraw", "res_1", status=2)
    assert len(from_json("claims")) == 1


def test_the_client_claims_with_the_same_errors_as_it_submits(api: str) -> None:
    body = {
        "task": {"name": "permuted_digits", "profile": "smoke"},
        "norm": {"method": "none"},
        "values": [{"seed": 3, "value": 0.25}],
        "provenance": {"source": "http://example.org"},
    }
    with Client(api) as client:
        got = client.claim(body, idempotency_key="a")
        assert client.claim(body, idempotency_key="a") == got == client.submitted_result(got["id"])
        assert [claim["id"] for claim in client.claims(fingerprint=got["fingerprint"][:10])] == [got["id"]]
        with pytest.raises(Conflict):
            client.claim({**body, "norm": {}, "values": [{"seed": 4, "value": 0.25}]}, idempotency_key="a")
        with pytest.raises(Invalid) as refusal:
            client.claim({**body, "values": []})
        assert [error["loc"] for error in refusal.value.errors] == [["values"]]
        with pytest.raises(Invalid):
            client.claim({**body, "values": [{"seed": 0, "value": float("nan")}]})
        with pytest.raises(Invalid):
            client.claim(body, idempotency_key=" ")
        assert client.withdraw(got["id"])["state"] == "withdrawn"


def test_the_same_claim_is_one_result_however_its_file_is_written(api: str, claim_file: Path) -> None:
    id = from_json("claim", claim_file)["id"]
    again = claim_file.with_name("again.json")
    again.write_text(json.dumps(dict(reversed(load_yaml(CLAIM).items()))))
    result = CliRunner().invoke(app, ["claim", str(again), "--idempotency-key", "another"])
    assert result.exit_code == 0
    assert result.stdout.startswith(f"{id}: claimed\n")
    assert re.fullmatch(rf"note: {id} of [-0-9]+ [:0-9]+ says the same; nothing was added\n", result.stderr)
    assert [claim["id"] for claim in from_json("claims")] == [id]
    claim_file.write_text(CLAIM.replace("0.88", "0.87"))
    assert from_json("claim", claim_file)["id"] != id
    normbench("withdraw", id)
    assert from_json("claim", again)["id"] != id, "what was withdrawn may be claimed anew"


def test_the_example_in_a_refusal_is_the_example_file_and_is_accepted(api: str) -> None:
    example = Path(__file__).parents[3] / "examples" / "claims" / "permuted_digits.yaml"
    assert example.read_text() == EXAMPLE
    assert [one["value"] for one in from_json("claim", example)["values"]] == [0.61, 0.62]


@pytest.mark.parametrize(
    ("written", "told"),
    [
        (
            "values: [0.61, 0.62]",
            'values.1: expected a seed and its value; write {"seed": …, "value": 0.62}',
        ),
        (
            "values: 0.61",
            'values: expected a list of seeds and their values; write "values": [{"seed": …, "value": 0.61}]',
        ),
        ("values: {0: 0.61}", 'values: expected a list of seeds and their values; write "values": [{"seed": 0,'),
        ("values: []", 'values: give 1 or more, as "values": [{"seed": …, "value": …}]'),
        ("", 'values: it is required; add "values": [{"seed": …, "value": …}]'),
        ("provenance: http://a.org", 'provenance: expected an object; write "provenance": {"source": "http://a.org"}'),
        ("provenance: {source: http://a.org, code: 12}", "provenance.code: expected text; put it in quotes"),
    ],
)
def test_a_wrong_claim_is_refused_with_an_example(api: str, tmp_path: Path, written: str, told: str) -> None:
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(f"task: {{name: permuted_digits, profile: smoke}}\n{written}\n")
    lines = normbench("claim", wrong, status=2).removeprefix("normbench: ")
    assert any(line.startswith(f"{wrong}: {told}") for line in lines.splitlines()), lines
    assert lines.rstrip().endswith(EXAMPLE.rstrip())
