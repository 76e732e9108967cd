"""Progress bar, and the words beside it, while experiments wait, run and end."""

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from normbench import Client
from normbench.display.experiments import divergence_step
from normbench.display.progress import phases, seconds_left, show_experiment, steps, watch, watch_analyses
from normbench.display.queue import Queue
from tests.normbench.script_server import Answer, scripted
from tests.service.sample_runs import written

TASK = {"name": "permuted_digits", "metric": {"name": "accuracy"}}


def run(state: str, step: int, eta: float | None = None, phase: str | None = None, **fields: Any) -> Any:
    progress = {"step": step, "max_steps": 100, "eta_seconds": eta, "phase": phase}
    return {"state": state, "progress": progress, "history": [], "attempt": 1, **fields}


def experiment(*runs: Any, device: str = "cpu", id: str = "exp_1") -> Any:
    return {
        "id": id,
        "state": "queued",
        "name": "layer_norm",
        "spec": {**written(), "device": device},
        "runs": list(runs),
    }


@pytest.mark.parametrize(
    ("runs", "done"),
    [
        ([run("succeeded", 40), run("running", 20)], 120),
        ([run("cancelled", 40), run("failed", 20)], 60),
        ([run("queued", 0), run("queued", 30)], 30),
        ([run("succeeded", 40, outcome="completed"), run("succeeded", 20, outcome="diverged")], 120),
    ],
)
def test_the_bar_counts_steps_of_all_seeds_and_is_full_only_if_all_succeeded(runs: list[Any], done: int) -> None:
    assert steps(runs) == (done, 200)


@pytest.mark.parametrize(
    ("runs", "left"),
    [
        ([run("running", 50, 10.0)], 10.0),
        ([run("running", 50, 10.0), run("queued", 0), run("succeeded", 90)], 30.0),
        ([run("running", 50, 10.0), run("running", 50, 10.0), run("queued", 0)], 20.0),
        ([run("running", 0, 100.0), run("running", 99, 0.1)], 100.0),
        ([run("running", 0), run("queued", 0)], None),
        ([run("failed", 10), run("cancelled", 10)], None),
    ],
)
def test_the_time_left_is_that_of_all_seeds_together(runs: list[Any], left: float | None) -> None:
    assert seconds_left(runs) == (None if left is None else pytest.approx(left))


def test_phases_of_evaluations_are_shown_with_their_runs() -> None:
    assert phases([run("running", 50, phase="test")]) == ["test"]
    running = [run("running", 50, phase=phase) for phase in ("validation", None, "test", "validation")]
    assert phases([*running, run("queued", 0)]) == ["validation (2 runs)", "test (1 run)"]
    older_service = run("running", 50)
    del older_service["progress"]["phase"]
    assert phases([older_service]) == []


def bar_of(outcome: str) -> str:
    """Text, with escape sequences, that is shown for an experiment of one run that ended with this outcome."""
    ended = run("succeeded", 100, outcome=outcome, result=None)
    shown = {**experiment(ended), "state": "succeeded"}
    shown["spec"]["kind"] = "training"
    console = Console(file=StringIO(), force_terminal=True, color_system="standard", width=100)
    with scripted(Answer(shown), Answer({"items": []})) as script:
        watch(Client(script.url), ["exp_1"], console)
    return console.file.getvalue()  # type: ignore[attr-defined, no-any-return]


def test_a_diverged_run_is_amber_and_a_completed_run_is_not() -> None:
    amber = "\x1b[33m"
    assert f"{amber}━" in bar_of("diverged")
    assert f"{amber}diverged at step 100" in bar_of("diverged")
    assert amber not in bar_of("completed")


MEASUREMENTS = Answer({"series": {"valid.accuracy": {"points": [[10, 0.51234, 1.0]]}}})
GOING: dict[str, Any] = {"result": None, "id": "run_1"}
LOST: dict[str, Any] = {"outcome": "diverged", "result": {"value": None}}


@pytest.mark.parametrize(
    ("state", "runs", "answers", "note"),
    [
        (
            "running",
            [run("running", 1234, 20.0, **GOING), run("queued", 0, result=None)],
            [MEASUREMENTS],
            ["running  valid accuracy 0.512  0 of 2 ended  40 s left"],
        ),
        (
            "running",
            [run("running", 50, 4000.0, "validation", **GOING), run("queued", 0, result=None)],
            [MEASUREMENTS],
            ["running  0 of 2 ended  2 h 13 min left"],
        ),
        (
            "succeeded",
            [run("succeeded", 50, **LOST), run("succeeded", 60, **LOST), run("succeeded", 100, result={"value": 0.5})],
            [],
            ["succeeded  test accuracy 0.500"],
        ),
        (
            "queued",
            [run("queued", 0, result=None)] * 2,
            [Answer({"items": []})],
            [
                "queued  0 of 2 ended",
                "  no worker is alive; `normbench up` starts its own, else run `normbench worker`",
            ],
        ),
        (
            "queued",
            [run("queued", 0, result=None)] * 2,
            [Answer({"items": [{"device": "cpu", "queues": ["cpu"], "run_id": None, "fused": None}]})],
            ["queued  0 of 2 ended", "  the worker is starting: it compiles kernels, once on a machine, some 20 s"],
        ),
    ],
)
def test_an_experiment_has_one_line_and_a_reason_one_more_in_80_columns(
    state: str, runs: list[Any], answers: list[Answer], note: list[str]
) -> None:
    shown: Any = {
        **experiment(*runs, id="exp_01M8HKBJQNA6X25MBAK9PN2M4P"),
        "state": state,
        "name": "recurrent_batch_norm",
    }
    for each in runs:
        each["progress"]["max_steps"] = 100_000
    console = Console(file=StringIO(), width=80)
    with scripted(*answers or [Answer({})]) as script:
        client = Client(script.url)
        console.print(show_experiment(client, Queue(client), shown, "accuracy"))
    title, first, *more = console.file.getvalue().splitlines()  # type: ignore[attr-defined]
    assert title == "exp_01M8HKBJQNA6X25MBAK9PN2M4P  permuted_digits recurrent_batch_norm"
    assert first.rstrip().endswith(f"00 {note[0]}")
    assert [line.rstrip() for line in more] == note[1:]


def test_each_change_of_state_is_a_line_on_standard_error_without_a_terminal(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("normbench.waiting.POLL_SECONDS", 0.01)

    def seen(state: str, *runs: Any) -> Answer:
        waiting = experiment(*runs)
        return Answer({**waiting, "state": state, "spec": {**waiting["spec"], "kind": "training"}})

    ended = run("succeeded", 100, outcome="completed", result=None)
    waits = run("queued", 0, result=None)
    queued, begun = seen("queued", waits, waits), seen("running", ended, waits)
    tasks, workers = Answer({"items": [TASK]}), Answer({"items": [worker("cpu", None)]})
    with scripted(queued, tasks, workers, queued, begun, seen("succeeded", ended, ended)) as script:
        watch(Client(script.url), ["exp_1"], Console(file=StringIO(), width=100))
    printed, told = capfd.readouterr()
    assert printed == ""
    assert told.splitlines() == [
        "exp_1  permuted_digits layer_norm: queued, 0 of 2 runs ended, step 0 of 200",
        "exp_1  permuted_digits layer_norm: running, 1 of 2 runs ended, step 100 of 200",
    ]


def analysis(task: str, state: str, cell: str) -> Answer:
    shown = experiment(run("running" if state == "running" else "queued", 0), id=task)
    return Answer({**shown, "state": state, "name": cell, "spec": {**shown["spec"], "task": {"name": task}}})


MEASURED = [
    [analysis("step_cost", "running", "none, gru"), analysis("smallest_batch", "queued", "none, gru")],
    [analysis("step_cost", "succeeded", "none, gru"), analysis("smallest_batch", "running", "none, gru")],
    [analysis("step_cost", "succeeded", "none, gru"), analysis("smallest_batch", "succeeded", "none, gru")],
]


def test_measurements_of_a_report_card_have_one_line_on_standard_error(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("normbench.waiting.POLL_SECONDS", 0.01)
    monkeypatch.setattr("normbench.display.progress.TELL_SECONDS", 1000.0)
    with scripted(*MEASURED[0], *MEASURED[0], *MEASURED[1], *MEASURED[2]) as script:
        watch_analyses(
            Client(script.url), "Report card of none", ["step_cost", "smallest_batch"], Console(file=StringIO())
        )
    assert capfd.readouterr().err.splitlines() == [
        "Report card of none: 0 of 2 measurements ended; now step_cost none, gru",
        "Report card of none: 1 of 2 measurements ended; now smallest_batch none, gru",
    ]


@pytest.mark.parametrize(("state", "told"), [("succeeded", "all measured"), ("failed", "1 did not succeed")])
def test_measurements_of_a_report_card_share_one_bar(state: str, told: str) -> None:
    console = Console(file=StringIO(), force_terminal=True, color_system=None, width=80)
    with scripted(analysis("step_cost", state, "none, gru"), MEASURED[2][1]) as script:
        watch_analyses(Client(script.url), "Report card of none", ["step_cost", "smallest_batch"], console)
    shown = console.file.getvalue()  # type: ignore[attr-defined]
    assert shown.replace("\x1b[?25l", "").splitlines()[:2] == [
        "Report card of none: 2 measurements",
        f"{'━' * 12} 2/2 {told}",
    ]


def test_the_step_of_a_divergence_comes_from_the_result_if_it_has_one() -> None:
    older = run("succeeded", 40, outcome="diverged", result={})
    newer = run("succeeded", 40, outcome="diverged", result={"divergence": {"step": 7}})
    assert [divergence_step(older), divergence_step(newer)] == [40, 7]


def worker(device: str, run_id: str | None = "run_9") -> dict[str, Any]:
    return {"device": device, "queues": ["auto", device.partition(":")[0]], "run_id": run_id}


def why(waiting: Any, workers: list[Any], *pages: list[Any]) -> str:
    answers = [Answer({"items": items, "next_cursor": None}) for items in (workers, *pages)]
    with scripted(*answers) as script:
        return Queue(Client(script.url)).why(waiting)


def test_waiting_without_a_worker_for_the_device_says_how_to_start_one() -> None:
    told = why(experiment(run("queued", 0), device="cuda"), [worker("cpu")])
    assert told == "no worker for cuda, only for cpu; run `normbench worker --device cuda:0`"
    assert "no worker is alive" in why(experiment(run("queued", 0)), [])


@pytest.mark.parametrize(
    ("fused", "told"),
    [
        ([False, False], "no live worker for it has fused kernels; a worker's log says what is missing"),
        ([False, True], "about to start"),
        ([None], "the worker is starting: it compiles kernels, once on a machine, some 20 s"),
        ([None, True], "about to start"),
    ],
)
def test_waiting_for_fused_kernels_says_how_to_get_them(fused: list[bool | None], told: str) -> None:
    waiting = experiment(run("queued", 0))
    waiting["spec"]["training"] = {"kernel": "fused"}
    workers = [{**worker("cpu", None), "fused": known} for known in fused]
    assert why(waiting, workers) == told
    waiting["spec"]["training"] = {"kernel": "auto"}
    assert why(waiting, workers) == (told if "starting" in told else "about to start")
    older_service = [worker("cpu", None)]
    assert why(waiting, older_service) == "about to start"


def test_waiting_behind_others_says_how_many_there_are() -> None:
    def other(device: str, id: str, **states: int) -> dict[str, Any]:
        return {"id": id, "spec": {"device": device}, "runs_by_state": states}

    queued = [other("cpu", "exp_1", queued=2), other("cpu", "exp_2", queued=3), other("cuda", "exp_3", queued=50)]
    running = [other("auto", "exp_4", queued=1, running=1)]
    told = why(experiment(run("queued", 0)), [worker("cpu")], queued, running)
    assert told == "the only worker for cpu is busy, 4 other runs waiting"


def test_waiting_after_trouble_says_what_the_trouble_was() -> None:
    trouble = {"attempt": 2, "at": "2026-11-22T01:00:00Z", "reason": "the disk is full", "lost": False}
    told = why(experiment(run("queued", 0, history=[trouble])), [worker("cpu", None)])
    assert told == "to be tried again; attempt 2 ended: the disk is full"
    done = run("succeeded", 10, history=[trouble])
    told = why(experiment(done, run("queued", 0)), [worker("cpu")], [], [])
    assert told == "the only worker for cpu is busy, 0 other runs waiting"
