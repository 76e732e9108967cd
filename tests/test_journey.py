"""Journeys from POST to leaderboard with real processes: ``normbench up``, and a cluster on PostgreSQL and Redis."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

from normbench.cli import app
from tests.processes import Service, service
from tests.servers import postgres_database

METHODS = ("layer_norm", "recurrent_batch_norm")


EMBEDDED = pytest.mark.parametrize("running", ["embedded"], indirect=True)  # a cluster stores and sends the same


def foreign_modules(folder: Path) -> Path:
    """Write packages with the names of ours and of others into a folder; return the file that exists after one was
    imported."""
    ran = folder / "ran"
    for name in ("workers", "service", "normcore", "migrations", "normbench", "torch", "celery", "logging"):
        package = folder / name
        package.mkdir()
        (package / "__init__.py").write_text(f"open({str(ran)!r}, 'a').write('{name} ')\n")
    return ran


@pytest.fixture(scope="module", params=["embedded", "cluster"])
def running(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """One service for all journeys. Each journey has its own task or experiment."""
    folder = tmp_path_factory.mktemp("journey")
    foreign_modules(folder)
    if request.param == "embedded":
        with service(folder) as embedded:
            embedded.up()
            yield embedded
        return
    broker = request.getfixturevalue("redis_url")
    with (
        postgres_database(request.getfixturevalue("postgres_url")) as database,
        service(folder, database_url=database, broker_url=broker) as cluster,
    ):
        cluster.cluster()
        yield cluster


def test_a_spec_becomes_a_leaderboard(running: Service) -> None:
    task = {"name": "sequential_digits", "profile": "smoke"}
    seeds = {"layer_norm": (0, 1), "recurrent_batch_norm": (0,)}
    submitted = [running.submit(method, seeds=seeds[method], task=task) for method in METHODS]
    for experiment in submitted:
        running.wait_succeeded(experiment)

    ended = running.get(f"/v1/experiments/{submitted[0]['id']}")
    assert [(run["seed"], run["state"], run["attempt"]) for run in ended["runs"]] == [
        (0, "succeeded", 1),
        (1, "succeeded", 1),
    ]
    run = ended["runs"][0]
    assert run["progress"] == {"step": 40, "max_steps": 40, "eta_seconds": None, "phase": None}
    assert (run["device"], run["kernel"], run["resumed_from_step"]) == ("cpu", "fused", None)
    assert set(run["environment"]) >= {"torch", "git", "cpu", "data"}
    assert [step for step, _ in running.curves(run["id"])["valid.accuracy"]] == [10, 20, 30, 40]

    names = {a["name"] for a in running.get(f"/v1/runs/{run['id']}/artifacts")["items"]}
    of_the_task = {"figures/confusion_matrix.json"}
    assert names == {"environment.json", "figures/curves.json", "log.txt", "model.pt", *of_the_task}
    curves = running.get(f"/v1/runs/{run['id']}/artifacts/figures/curves.json")
    assert curves["data"] == running.get(f"/v1/runs/{run['id']}/figures/curves")["data"]
    drawn = running.get(f"/v1/runs/{run['id']}/figures/confusion_matrix")["data"][0]
    assert sum(int(count) for row in drawn["text"] for count in row) == 300  # number of images in the test split
    stored = running.get(f"/v1/runs/{run['id']}/artifacts/environment.json")
    assert stored == run["environment"]

    board = running.get("/v1/leaderboards/sequential_digits", profile="smoke")
    assert {entry["method"] for entry in board["entries"]} == set(METHODS)
    entry = next(e for e in board["entries"] if e["method"] == "layer_norm")
    values = [r["result"]["value"] for r in ended["runs"]]
    assert entry["value"]["mean"] == pytest.approx(sum(values) / 2)
    assert (entry["n_runs"], entry["experiments"]) == (2, [submitted[0]["id"]])

    workers = running.get("/v1/workers")["items"]
    assert [(w["device"], w["queues"], w["run_id"]) for w in workers] == [("cpu", ["auto", "cpu"], None)]


@EMBEDDED
def test_analyses_give_findings_curves_and_a_report_card(running: Service) -> None:
    trained = running.submit("recurrent_batch_norm")
    flow = running.submit("layer_norm", task={"name": "gradient_flow", "profile": "smoke"}, model={"cell": "gru"})
    running.wait_succeeded(trained)
    settling = running.submit_spec({"task": {"name": "population_statistics", "run": trained["runs"][0]["id"]}})
    for experiment in (flow, settling):
        running.wait_succeeded(experiment)

    run = running.run_of(flow)
    assert (run["outcome"], run["kernel"], run["progress"]["step"]) == ("completed", "reference", 3)
    assert run["progress"]["max_steps"] == 3
    names = [finding["name"] for finding in run["result"]["findings"]]
    assert names[:2] == ["gradient_norm gain=0.1: decades lost", "gradient_norm gain=1: decades lost"]
    curves = running.curves(run["id"])
    assert set(curves) == {"gradient_norm gain=0.1", "gradient_norm gain=1"}
    assert [t for t, _ in curves["gradient_norm gain=1"]] == list(range(64))
    assert run["environment"]["data"].keys() == {"digits"}

    run = running.run_of(settling)
    found = {finding["name"]: finding for finding in run["result"]["findings"]}
    assert found["recurrent.cells.0.norm_h: variance at t = 0"]["holds"] is None, "the paper says nothing of this run"
    assert [t for t, _ in running.curves(run["id"])["recurrent.cells.0.norm_h.variance"]] == list(range(64))

    boards = {board["task"] for board in running.get("/v1/leaderboards")["items"]}
    assert boards & {"gradient_flow", "population_statistics", "permuted_digits"} == {"permuted_digits"}
    assert running.get("/v1/experiments", task="gradient_flow", method="layer_norm")["items"][0]["id"] == flow["id"]
    standings = running.get("/v1/methods/recurrent_batch_norm/report-card")["standings"]
    assert ("permuted_digits", trained["fingerprint"]) in [(s["task"], s["fingerprint"]) for s in standings]


@EMBEDDED
def test_a_report_card_measures_what_is_missing(running: Service) -> None:
    environment = {"NORMBENCH_URL": str(running.http.base_url)}
    result = CliRunner().invoke(app, ["report-card", "batch_norm"], env=environment)
    assert result.exit_code == 0, result.output
    lines = [line.split() for line in result.stdout.splitlines()]
    invariances = [line for line in lines if line[-4:-3] in (["re-scaling"], ["re-centering"])]
    assert [line[-3] for line in invariances] == ["yes", "no", "yes", "yes", "yes", "no"]  # measured
    assert [line[-1] for line in invariances] == ["yes", "no", "yes", "yes", "yes", "no"]  # LN Table 1
    assert running.get("/v1/methods/batch_norm/report-card")["missing"] == []


def test_event_stream_covers_the_whole_run_and_then_ends(running: Service) -> None:
    experiment = running.submit()
    run_id = experiment["runs"][0]["id"]
    events = []
    with running.http.stream("GET", f"/v1/runs/{run_id}/events") as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        for block in "".join(answer.iter_text()).split("\n\n"):
            lines = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
            if "event" in lines:
                events.append((lines["event"], json.loads(lines["data"])))
    assert [data["step"] for kind, data in events if kind == "measurement"] == [10, 20, 30, 40]
    states = [data["state"] for kind, data in events if kind == "state"]
    assert states[-1] == "succeeded"
    assert events[-1][0] == "state"
    assert set(states) <= {"queued", "running", "succeeded"}


def test_a_running_experiment_is_cancelled_and_goes_on_when_retried(running: Service) -> None:
    experiment = running.submit(training={"max_steps": 1_000_000, "eval_every": 10, "target": None}, seeds=(0, 1))
    running.wait_for_step(experiment, 20)
    assert running.http.post(f"/v1/experiments/{experiment['id']}/cancel").status_code == 202
    run = running.wait_ended(experiment, seconds=15)
    states = [r["state"] for r in running.get(f"/v1/experiments/{experiment['id']}")["runs"]]
    assert states == ["cancelled", "cancelled"]

    assert running.http.post(f"/v1/experiments/{experiment['id']}/retry").status_code == 202
    again = running.wait_for(experiment, lambda r: r["state"] == "running" and r["resumed_from_step"])
    assert again["attempt"] == run["attempt"] + 1
    assert again["resumed_from_step"] >= 20
    running.http.post(f"/v1/experiments/{experiment['id']}/cancel")
    running.wait_ended(experiment, seconds=15)


def test_a_running_analysis_is_cancelled_at_once(running: Service) -> None:
    """The current piece of the analysis would take hours. An analysis has no checkpoint to write before it stops."""
    task = {"name": "smallest_batch", "updates": 100_000}
    experiment = running.submit("none", task=task, model={"cell": "lstm", "hidden_size": 1000})
    running.wait_for(experiment, lambda run: run["state"] == "running")
    assert running.http.post(f"/v1/experiments/{experiment['id']}/cancel").status_code == 202
    assert running.wait_ended(experiment, seconds=15)["state"] == "cancelled"


def test_urgent_runs_overtake_those_that_wait(running: Service) -> None:
    blocker = running.submit(training={"max_steps": 1_000_000, "target": None})
    running.wait_for(blocker, lambda run: run["state"] == "running")
    usual = running.submit(seeds=(1,))
    urgent = running.submit("none", priority=9)
    running.http.post(f"/v1/experiments/{blocker['id']}/cancel")
    started = [running.wait_ended(experiment)["started_at"] for experiment in (urgent, usual)]
    assert started == sorted(started)


def test_no_process_has_imported_from_the_current_directory_and_all_end_well(running: Service) -> None:
    """The last of the journeys. Every process has worked by now."""
    for process in running.running:
        process.send_signal(signal.SIGTERM)
        assert process.wait(60) == 0, running.logs()
    ran = running.folder / "ran"
    assert not ran.exists(), ran.read_text()
