"""The API answers as its own description says, whatever it is sent.

Schemathesis draws requests from the description, right ones and wrong ones, and checks every answer. 500 and more by
default; with ``NORMBENCH_TEST_SCHEMA_CASES=5000`` as many, and every boundary of the description besides.
"""

import math
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from service.artifacts import Artifacts
from service.db import Database
from service.settings import Settings
from tests.service.live import live_api
from tests.service.sample_runs import begun, claimed, finished, measured, recorded, submitted, submitted_result
from tests.service.sweeps.sample_sweeps import posted, stored

CALLS = 45
CASES = int(os.environ.get("NORMBENCH_TEST_SCHEMA_CASES", "500"))
MOST = math.ceil(1.4 * CASES / CALLS)  # of one call; those without parameters get a few only
CONFIG = """\
[parameters]
"path.experiment_id" = "{experiment_id}"
"path.run_id" = "{run_id}"
"path.task" = "permuted_digits"
"path.result_id" = "{result_id}"
"path.sweep_id" = "{sweep_id}"

[[operations]]  # no JSON Schema can say which parts of a spec go together, or which data is at hand
include-name = "POST /v1/experiments"
checks.positive_data_acceptance.expected-statuses = ["2xx", "409", "422"]

[[operations]]  # as little can it say it of a result's spec, or how good the task's metric can be
include-name = "POST /v1/results"
checks.positive_data_acceptance.expected-statuses = ["2xx", "409", "422"]

[[operations]]  # nor which fields a spec has
include-name = "POST /v1/sweeps"
checks.positive_data_acceptance.expected-statuses = ["2xx", "409", "422"]

[[operations]]  # which series a run has, it says itself
include-path = "/v1/runs/{{run_id}}/measurements"
checks.positive_data_acceptance.expected-statuses = ["2xx", "304", "422"]

[[operations]]  # which problems a board has, it says itself
include-path = "/v1/leaderboards/{{task}}"
checks.positive_data_acceptance.expected-statuses = ["2xx", "304", "422"]

[[operations]]  # a figure of another name is not there, and only printed figures have a width, within a range
include-path-regex = "/figures/"
checks.positive_data_acceptance.expected-statuses = ["2xx", "304", "404", "422"]

[[operations]]  # what is stored under other names is not there
include-path = "/v1/runs/{{run_id}}/artifacts/{{name}}"
checks.positive_data_acceptance.expected-statuses = ["2xx", "304", "404", "416"]
"""


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_the_api_answers_as_it_is_described(settings: Settings, db: Database, tmp_path: Path) -> None:
    experiment = submitted(db)
    run_id, lease = experiment.runs[0].id, claimed(db).lease
    begun(db, lease)
    recorded(db, lease, measured(5), measured(10))
    finished(db, lease)
    Artifacts(settings.artifacts_url).write(run_id, 1, "log.txt", bytes(100))
    config = tmp_path / "schemathesis.toml"
    ids = {"experiment_id": experiment.id, "run_id": run_id}
    config.write_text(CONFIG.format(**ids, result_id=submitted_result(db).id, sweep_id=stored(db, posted())))
    with live_api(settings) as url:
        command: list[str | Path] = [
            Path(sys.executable).with_name("schemathesis"),
            "--config-file",
            config,
            "run",
            f"{url}/openapi.json",
        ]
        command += ["--checks", "all", "--exclude-checks", "ignored_auth", "--seed", "1", "--no-color"]
        command += ["--phases", "fuzzing" if CASES <= 500 else "examples,coverage,fuzzing"]
        command += ["--max-examples", str(MOST), "--no-shrink", "--generation-database", "none"]
        ran = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert ran.returncode == 0, ran.stdout[-8000:] + ran.stderr[-2000:]
    assert f"Tested: {CALLS}" in ran.stdout, "every call was tried"
    generated = re.search(r"(\d+) generated", ran.stdout)
    assert generated is not None, ran.stdout[-2000:]
    assert int(generated[1]) >= CASES
