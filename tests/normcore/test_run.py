"""A training is probed at its beginning and at its end. An analysis is not probed."""

from typing import Any

from normcore.events import Event, Finished, Probed, Stepped
from normcore.probe import TIMES
from normcore.run import run
from normcore.spec import resolve

SPEC = {
    "task": {"name": "permuted_digits", "profile": "smoke"},
    "norm": {"method": "none"},
    "training": {"max_steps": 3, "eval_every": 3},
}


def kinds(events: list[Event]) -> list[str]:
    return [type(event).__name__ for event in events]


def test_the_first_probe_comes_after_the_first_update_and_the_second_with_the_end() -> None:
    events = list(run(resolve(SPEC), 0))
    assert kinds(events) == [
        *("Started", "Stepped", "Probed", "Stepped", "Stepped"),
        *("Evaluating", "Measured", "Evaluating", "Finished"),
    ]
    probed, end = events[2], events[-1]
    assert isinstance(probed, Probed)
    assert isinstance(end, Finished)
    assert len(probed.seconds) == len(end.timing.probe) == TIMES
    assert sum(probed.seconds) > end.timing.training, "no probe is training"


def test_run_resumed_after_its_last_update_is_probed_at_its_end() -> None:
    for event in run(resolve(SPEC), 0):
        if isinstance(event, Stepped) and event.step == 3:
            kept = event.checkpoint()
    events = list(run(resolve(SPEC), 0, checkpoint=kept))
    assert kinds(events) == ["Started", "Evaluating", "Measured", "Evaluating", "Probed", "Finished"]


def test_an_analysis_is_not_probed() -> None:
    spec: dict[str, Any] = {"task": {"name": "invariances", "profile": "smoke"}, "norm": {"method": "none"}}
    assert "Probed" not in kinds(list(run(resolve(spec), 0)))
