"""Two runs of one spec and seed are compared to the last bit."""

import io
import math
from typing import Any

from rich.console import Console

from normbench.display.replay import render_replay
from normbench.replaying import compare_runs, spec_of

ENVIRONMENT = {"torch": "2.12.0", "cpu": "AMD EPYC", "gpu": None, "data": {"digits": "abc"}}
STEPS = (10, 20, 30)


def text_of(shown: Any) -> str:
    console = Console(width=200, file=io.StringIO())
    console.print(shown)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


def run(id: str = "run_1", **parts: Any) -> Any:
    result = {"values": {"accuracy": 0.5}, "step": 30}
    about = {"kernel": "fused", "device": "cpu", "environment": ENVIRONMENT}
    return {"id": id, "seed": 7, "result": result, **about, **parts}


def curves(**values: list[float]) -> Any:
    return {
        name.replace("__", "."): {"points": [[step, value, 0.1 * step] for step, value in zip(STEPS, of, strict=False)]}
        for name, of in values.items()
    }


OLD = curves(train__loss=[3.0, 2.0, 1.0], valid__accuracy=[0.1, 0.2, 0.3])


def test_seconds_may_differ_and_nothing_else_does() -> None:
    now = curves(train__loss=[3.0, 2.0, 1.0], valid__accuracy=[0.1, 0.2, 0.3])
    now["train.loss"]["points"][1][2] = 99.0
    found = compare_runs(run(), OLD, run("run_2"), now)
    assert found == {
        "run_id": "run_1",
        "again": "run_2",
        "seed": 7,
        "identical": True,
        "series": 3,
        "points": 7,
        "deviations": [],
        "changed": [],
    }
    assert "run_1 and run_2 (seed 7) are identical: 3 series, 7 points" in text_of(render_replay(found))


def test_a_difference_of_one_unit_in_the_last_place_is_found() -> None:
    wrong = math.nextafter(0.2, 1.0)
    now = curves(train__loss=[3.0, 2.0, 1.0], valid__accuracy=[0.1, wrong, 0.5])
    found = compare_runs(run(), OLD, run("run_2"), now)
    assert not found["identical"]
    assert found["deviations"] == [
        {
            "series": "valid.accuracy",
            "from_step": 20,
            "then": 0.2,
            "now": wrong,
            "largest": 0.2,
            "differing": 2,
            "points": 3,
        }
    ]
    shown = text_of(render_replay(found))
    assert "differ in 1 of 3 series" in shown
    assert f"20 0.2 {wrong!r} 0.2 2 of 3" in " ".join(shown.split())
    assert "Nothing is different about code, packages, data and machine." in shown


def test_a_missing_point_and_another_test_value_are_differences() -> None:
    now = curves(train__loss=[3.0, 2.0], valid__accuracy=[0.1, 0.2, 0.3])
    other = run("run_2", result={"values": {"accuracy": 0.75}, "step": 30})
    of_test, of_loss = compare_runs(run(), OLD, other, now)["deviations"]
    assert (of_test["series"], of_test["from_step"], of_test["then"], of_test["now"]) == (
        "test.accuracy",
        30,
        0.5,
        0.75,
    )
    assert (of_loss["series"], of_loss["from_step"], of_loss["now"], of_loss["largest"]) == (
        "train.loss",
        30,
        None,
        None,
    )


def test_findings_of_an_analysis_are_compared() -> None:
    first, second = (
        run(id, result={"findings": [{"name": "weight", "value": value}, {"name": "data", "value": None}]})
        for id, value in (("run_1", 1.0), ("run_2", 1.5))
    )
    [deviation] = compare_runs(first, {}, second, {})["deviations"]
    assert (deviation["series"], deviation["largest"]) == ("finding: weight", 0.5)


def test_differences_of_kernel_packages_machine_and_data_are_listed() -> None:
    environment = {**ENVIRONMENT, "torch": "2.13.0", "gpu": "H100", "data": {"digits": "abd"}}
    found = compare_runs(run(), OLD, run("run_2", environment=environment, kernel="reference"), OLD)
    assert found["identical"]
    assert found["changed"] == [
        {"what": "kernel", "then": "fused", "now": "reference"},
        {"what": "torch", "then": "2.12.0", "now": "2.13.0"},
        {"what": "gpu", "then": None, "now": "H100"},
        {"what": "data digits", "then": "abc", "now": "abd"},
    ]
    assert "torch 2.12.0 2.13.0" in " ".join(text_of(render_replay(found)).split())


def test_a_run_is_repeated_with_its_seed_on_its_kind_of_device() -> None:
    spec = {"task": {"name": "x"}, "seeds": [1, 7], "device": "auto", "labels": {"team": "vision"}}
    recipe: Any = {"spec": spec}
    assert spec_of(run(device="cuda:3"), recipe) == {
        "task": {"name": "x"},
        "seeds": [7],
        "device": "cuda",
        "labels": {"replay_of": "run_1"},
    }
