"""Comparison of a run with its replay: every curve point by point, and the differences of their environments."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from normbench.answers import Deviation, Recipe, ReplayChange, ReplayComparison, Run, Series, Spec

LABEL = "replay_of"

Points = Mapping[float, float]
"""Values of one curve, by step."""


def spec_of(run: Run, recipe: Recipe) -> Spec:
    """Spec that repeats a run: the spec of its experiment with the run's seed alone, on the same kind of device.

    A label names the run that is repeated.
    """
    spec = recipe["spec"]
    device = run["device"].partition(":")[0] if run["device"] else spec["device"]
    return {**spec, "seeds": [run["seed"]], "device": device, "labels": {LABEL: run["id"]}}


def compare_runs(
    run: Run, curves: Mapping[str, Series], again: Run, curves_again: Mapping[str, Series]
) -> ReplayComparison:
    """Compare two ended runs of one spec and seed.

    Args:
        curves: measurements of ``run``, by series.
        curves_again: measurements of ``again``, by series.
    """
    then, now = _values(run, curves), _values(again, curves_again)
    names = sorted(then.keys() | now.keys())
    found = [_deviation(name, then.get(name, {}), now.get(name, {})) for name in names]
    deviations = [deviation for deviation in found if deviation is not None]
    return {
        "run_id": run["id"],
        "again": again["id"],
        "seed": run["seed"],
        "identical": not deviations,
        "series": len(names),
        "points": sum(len(then.get(name, {}).keys() | now.get(name, {}).keys()) for name in names),
        "deviations": deviations,
        "changed": _list_changes(run, again),
    }


def _values(run: Run, curves: Mapping[str, Series]) -> dict[str, Points]:
    """All numbers of a run by name: its curves, and its test values or findings."""
    values: dict[str, Points] = {
        name: {step: value for step, value, *_ in curve["points"]} for name, curve in curves.items()
    }
    result = run["result"] or {}
    for name, value in result.get("values", {}).items():
        values[f"test.{name}"] = {result["step"] or 0: value}
    for finding in result.get("findings", ()):
        if finding["value"] is not None:
            values[f"finding: {finding['name']}"] = {0: finding["value"]}
    return values


def _deviation(series: str, then: Points, now: Points) -> Deviation | None:
    steps = sorted(step for step in then.keys() | now.keys() if then.get(step) != now.get(step))
    if not steps:
        return None
    both = [abs(now[step] - then[step]) for step in steps if step in then and step in now]
    return {
        "series": series,
        "from_step": steps[0],
        "then": then.get(steps[0]),
        "now": now.get(steps[0]),
        "largest": max(both, default=None),
        "differing": len(steps),
        "points": len(then.keys() | now.keys()),
    }


def _list_changes(run: Run, again: Run) -> Sequence[ReplayChange]:
    """Differences of code, packages, data and machine between two runs."""
    then, now = _ran_with(run), _ran_with(again)
    return [
        {"what": name, "then": then.get(name), "now": now.get(name)}
        for name in [*then, *(name for name in now if name not in then)]
        if then.get(name) != now.get(name)
    ]


def _ran_with(run: Run) -> dict[str, Any]:
    environment = dict(run["environment"] or {})
    data = cast(Mapping[str, str], environment.pop("data", {}))
    return {
        "kernel": run["kernel"],
        "device": run["device"],
        **environment,
        **{f"data {name}": checksum for name, checksum in data.items()},
    }
