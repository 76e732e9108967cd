"""A report card on the command line."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from service.display import table

TABLE_1 = {
    "weight_matrix_rescaling": "weight matrix\nre-scaling",
    "weight_matrix_recentering": "weight matrix\nre-centering",
    "weight_vector_rescaling": "weight vector\nre-scaling",
    "dataset_rescaling": "dataset\nre-scaling",
    "dataset_recentering": "dataset\nre-centering",
    "single_case_rescaling": "single case\nre-scaling",
}
YES_OR_NO = {"invariant": "yes", "not invariant": "no", None: None}


def shown(card: Mapping[str, Any]) -> Iterator[Any]:
    """The card's parts, to be printed one after the other."""
    yield Text.assemble((card["title"], "bold"), f" ({card['method']}), {card['citation']}\n")
    yield _invariances(card)
    yield from _cells(card)
    yield _standings(card["standings"])
    notes = [f"{task}: {reason}" for task, reason in card["not_applicable"].items()]
    notes += [f"{_name(spec)} is not measured yet" for spec in card["missing"]]
    notes += [f"{experiment_id} is under way" for experiment_id in card["pending"]]
    yield Group(*map(Text, notes))


def _invariances(card: Mapping[str, Any]) -> Any:
    """Table 1's row as measured, and as printed where the paper has it."""
    if card["invariances"] is None:
        return Group()
    found = {finding["name"]: finding for finding in card["invariances"]["findings"]}
    columns = [found[name] for name in TABLE_1]
    rows: list[list[Any]] = [
        ["measured", *(YES_OR_NO[finding["verdict"]] for finding in columns)],
        ["deviation", *(f"{finding['value']:.1e}" for finding in columns)],
    ]
    if all(finding["claim"] for finding in columns):
        rows.append(["LN Table 1", *(YES_OR_NO[finding["claim"]] for finding in columns)])
    return table("Invariant under", ["", *TABLE_1.values()], rows)


def _cells(card: Mapping[str, Any]) -> Iterator[Table]:
    if card["cells"]:
        columns = ("cell", "training step against none [95%]", "smallest batch", "gradients through 64 steps, by gain")
        rows = [
            (cell, _cost(of["step_cost"]), _batch(of["smallest_batch"]), _flow(of["gradient_flow"]))
            for cell, of in card["cells"].items()
        ]
        yield table("In each cell", columns, rows, [columns[-1]])


def _cost(measured: Mapping[str, Any] | None) -> str | None:
    if measured is None:
        return None
    value = {finding["name"]: finding["value"] for finding in measured["findings"]}
    return f"{value['ratio']:.2f}x [{value['ratio.low']:.2f}, {value['ratio.high']:.2f}] on {measured['device']}"


def _batch(measured: Mapping[str, Any] | None) -> str | None:
    if measured is None:
        return None
    smallest = next(finding for finding in measured["findings"] if finding["name"] == "smallest_batch")
    return "none" if smallest["value"] is None else f"{smallest['value']:g}"


def _flow(measured: Mapping[str, Any] | None) -> str | None:
    """The gains under what becomes of the gradient with them."""
    if measured is None:
        return None
    gains: dict[str, list[str]] = {}
    for finding in measured["findings"]:
        if finding["name"].startswith("gradient_norm"):
            gain = finding["name"].partition("gain=")[2].partition(":")[0]
            gains.setdefault(finding["verdict"], []).append(gain)
    return "; ".join(f"{verdict} {', '.join(filter(None, values))}".strip() for verdict, values in gains.items())


def _standings(standings: list[Mapping[str, Any]]) -> Any:
    if not standings:
        return "Not on any leaderboard yet; submit a task with it.\n"
    columns = ("leaderboard", "rank", "test", "seeds")
    rows = [
        (
            f"{s['task']} ({s['profile']})",
            f"{s['rank']} of {s['of']}",
            None if s["mean"] is None else f"{s['metric']} {s['mean']:.3f}" + _interval(s["ci95"]),
            s["n_seeds"],
        )
        for s in standings
    ]
    return table("Best entry on each leaderboard", columns, rows)


def _interval(ci95: list[float] | None) -> str:
    return f" [{ci95[0]:.3f}, {ci95[1]:.3f}]" if ci95 else ""


def _name(spec: Mapping[str, Any]) -> str:
    cell = f" in {spec['model']['cell']}" if "model" in spec else ""
    return f"{spec['task']['name']}{cell}"
