"""Report card as tables."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.text import Text

from normbench.display.numbers import bounds, decimal
from normbench.display.table import Column, Table
from normbench.shown_answers import ReportCard

TABLE_1 = {
    "weight_matrix_rescaling": "weight matrix re-scaling",
    "weight_matrix_recentering": "weight matrix re-centering",
    "weight_vector_rescaling": "weight vector re-scaling",
    "dataset_rescaling": "dataset re-scaling",
    "dataset_recentering": "dataset re-centering",
    "single_case_rescaling": "single case re-scaling",
}
OWN_PROBLEM = "the profile's own"
YES_OR_NO = {"invariant": "yes", "not invariant": "no", None: None}


def render_report_card(card: ReportCard) -> Iterator[Any]:
    """Yield the parts of a report card, to be printed one after the other."""
    yield Text.assemble((card["title"], "bold"), f" ({card['method']}), {card['citation']}\n")
    for part in (_invariances(card), _cells(card), _standings(card)):
        if part is not None:
            yield part
            yield Text()
    if not card["standings"]:
        yield Text("On no leaderboard yet; submit an experiment with this method.")
    for task, reason in card["not_applicable"].items():
        yield Text(f"{task}: {reason}")
    for spec in card["missing"]:
        yield Text(f"{_name(spec)} is not measured yet")
    for experiment_id in card["pending"]:
        yield Text(f"{experiment_id} is under way")


def _invariances(card: ReportCard) -> Table | None:
    """Table of a method's invariances as measured, and as printed in Table 1 of LN if the paper has the method."""
    if card["invariances"] is None:
        return None
    found = {finding["name"]: finding for finding in card["invariances"]["findings"]}
    claimed = all(found[name]["claim"] for name in TABLE_1)
    columns = [Column("invariant under"), Column("measured"), Column("deviation")]
    rows = [
        (
            words,
            YES_OR_NO[found[name]["verdict"]],
            f"{found[name]['value']:.1e}",
            *([YES_OR_NO[found[name]["claim"]]] if claimed else []),
        )
        for name, words in TABLE_1.items()
    ]
    return Table("Invariances", [*columns, *([Column("LN Table 1")] if claimed else [])], rows)


def _cells(card: ReportCard) -> Table | None:
    if not card["cells"]:
        return None
    columns = (
        Column("cell"),
        Column("training step against none [95%]", prose=True),
        Column("smallest batch"),
        Column("gradients through 64 steps, by gain", prose=True),
    )
    rows = [
        (cell, _cost(of["step_cost"]), _batch(of["smallest_batch"]), _flow(of["gradient_flow"]))
        for cell, of in card["cells"].items()
    ]
    return Table("In each cell", columns, rows)


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
    """Verdicts on the gradient, each with the gains for which it holds."""
    if measured is None:
        return None
    gains: dict[str, list[str]] = {}
    for finding in measured["findings"]:
        if finding["name"].startswith("gradient_norm"):
            gain = finding.get("parameters", {}).get("gain")
            gains.setdefault(finding["verdict"], []).append("" if gain is None else f"{gain:g}")
    return "; ".join(f"{verdict} {', '.join(filter(None, values))}".strip() for verdict, values in gains.items())


def _standings(card: ReportCard) -> Table | None:
    if not card["standings"]:
        return None
    columns = (
        Column("leaderboard"),
        Column("entry", words=True),
        Column("rank"),
        *([Column("tied with", words=True)] if any(s["tied_with"] for s in card["standings"]) else []),
        Column("test"),
        Column("seeds", optional=1),
    )
    rows = [
        (
            f"{s['task']} ({_board(s)})",
            s["name"],
            _rank(s),
            *([", ".join(s["tied_with"]) or None] if any(s["tied_with"] for s in card["standings"]) else []),
            None if s["mean"] is None else f"{s['metric']} {decimal(s['mean'])}{bounds(s['ci95'])}",
            s["n_seeds"],
        )
        for s in card["standings"]
    ]
    return Table("Best entry on each leaderboard", columns, rows)


def _rank(standing: Mapping[str, Any]) -> str:
    """Rank that an entry shares with the entries tied with it, or the reason why it has no rank."""
    if standing["n_diverged"] == standing["n_seeds"]:
        return "all runs diverged"
    if standing["shared_rank"] is None:
        return "over budget"
    if standing["too_few_seeds"]:
        return "too few seeds"
    return f"{standing['shared_rank']} of {standing['of']}"


def _board(standing: Mapping[str, Any]) -> str:
    title = standing["problem"]["title"]
    return standing["profile"] if title == OWN_PROBLEM else f"{standing['profile']}, {title}"


def _name(spec: Mapping[str, Any]) -> str:
    cell = f" in {spec['model']['cell']}" if "model" in spec else ""
    return f"{spec['task']['name']}{cell}"
