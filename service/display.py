"""What the command line shows: tables, and progress bars while experiments run."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rich import box
from rich.console import Console, Group
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn
from rich.table import Table
from rich.text import Text

from service.client import ENDED, Client

POLL_SECONDS = 0.5
STATE_STYLES = {"succeeded": "green", "failed": "red", "cancelled": "yellow", "running": "cyan", "queued": "dim"}


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], folds: Sequence[str] = ()) -> Table:
    """A table of text, brackets included; None shows as a dash. Only the columns in ``folds`` may break into lines."""
    made = Table(title=Text(title), title_justify="left", title_style="bold", box=box.SIMPLE, padding=(0, 1, 0, 0))
    for column in columns:
        made.add_column(Text(column), overflow="fold", no_wrap=column not in folds)
    for row in rows:
        made.add_row(*(Text("–" if cell is None else str(cell)) for cell in row))
    return made


def leaderboard(board: Mapping[str, Any]) -> Table:
    """Ranked entries with their intervals and times to the target."""
    unit = f", {board['unit']}" if board["unit"] else ""
    columns: dict[str, Callable[[Mapping[str, Any]], Any]] = {
        "#": lambda e: e["rank"],
        "method": lambda e: e["method"],
        "differs in": lambda e: e["citation"] or _changes(e["changes"]),
        f"test {board['metric']}{unit} [95%]": lambda e: _value(e["value"]),
        "seeds": _seeds,
        "steps": lambda e: _time(e["steps_to_target"], "{:g}"),
        "time": lambda e: _time(e["seconds_to_target"], "{:.1f} s"),
        f"vs {board['baseline']}": lambda e: _speedup(e["speedup"]),
    }
    if not any(e["citation"] or e["changes"] for e in board["entries"]):
        del columns["differs in"]
    better = "higher is better" if board["direction"] == "maximize" else "lower is better"
    target = f"; steps and time to {board['target']:g} on validation data" if board["target"] is not None else ""
    rows = [[cell(entry) for cell in columns.values()] for entry in board["entries"]]
    return table(f"{board['task']} ({board['profile']}): {better}{target}", list(columns), rows, ["differs in"])


def _changes(changes: Mapping[str, Any]) -> str:
    return ", ".join(f"{path}={value}" for path, value in changes.items())


def _value(value: Mapping[str, Any] | None) -> str | None:
    if value is None:
        return None
    interval = f" [{value['ci95'][0]:.3f}, {value['ci95'][1]:.3f}]" if value["ci95"] else ""
    return f"{value['mean']:.3f}{interval}"


def _seeds(entry: Mapping[str, Any]) -> str | None:
    if entry["source"] == "published":
        return None
    return f"{entry['n_seeds']}" + (f" ({entry['n_diverged']} diverged)" if entry["n_diverged"] else "")


def _time(time: Mapping[str, Any] | None, form: str) -> str | None:
    return form.format(time["median"]) if time and time["median"] is not None else None


def _speedup(speedup: Mapping[str, Any] | None) -> str | None:
    return f"{speedup['steps']:.1f}x" if speedup and speedup["steps"] else None


def method_of(spec: Mapping[str, Any]) -> str | None:
    """The method of an experiment's spec; some analyses have none."""
    method: str | None = spec["norm"] and spec["norm"]["method"]
    return method


def value_of(run: Mapping[str, Any]) -> float | None:
    """The test value of a training that has succeeded with one."""
    value: float | None = run["result"] and run["result"].get("value")
    return value


def findings(run: Mapping[str, Any]) -> Group:
    """What an analysis found, and whether it is what its source says; what no finding has is left out."""
    found = run["result"]["findings"]
    meanings = {finding["meaning"] for finding in found}
    columns: dict[str, Callable[[Mapping[str, Any]], Any]] = {
        "what": lambda f: f["name"],
        "measured": lambda f: _number(f["value"]),
        "verdict": lambda f: f["verdict"],
        "claimed": lambda f: f["claim"],
        "holds": lambda f: None if f["holds"] is None else "yes" if f["holds"] else "NO",
        "source": lambda f: f["source"],
        "measured is": lambda f: f["meaning"] if len(meanings) > 1 else None,
    }
    told = {name: cell for name, cell in columns.items() if any(cell(finding) is not None for finding in found)}
    rows = [[cell(finding) for cell in told.values()] for finding in found]
    about = f"Measured is {next(iter(meanings))}.\n" if len(meanings) == 1 else ""
    shown = table(f"{run['id']}, seed {run['seed']}", list(told), rows, ["what", "claimed", "measured is"])
    return Group(shown, Text(about))


def _number(value: float | None) -> str | None:
    return None if value is None else f"{value:.4g}"


def watch(client: Client, experiment_ids: Sequence[str], console: Console) -> list[dict[str, Any]]:
    """Show a bar for each experiment until all have ended.

    Returns:
        The experiments as they ended.
    """
    metrics = {task["name"]: task["metric"]["name"] for task in client.catalogue("tasks") if task["metric"]}
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=16),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=console) as progress:
        bars = {id: progress.add_task(id, total=None, note="") for id in experiment_ids}
        while True:
            experiments = [client.experiment(id) for id in experiment_ids]
            for experiment in experiments:
                _update(client, progress, bars[experiment["id"]], experiment, metrics)
            if all(experiment["state"] in ENDED for experiment in experiments):
                return experiments
            time.sleep(POLL_SECONDS)


def _update(
    client: Client, progress: Progress, bar: TaskID, experiment: Mapping[str, Any], metrics: Mapping[str, str]
) -> None:
    runs, spec = experiment["runs"], experiment["spec"]
    done = sum(run["progress"]["max_steps"] if run["state"] in ENDED else run["progress"]["step"] for run in runs)
    progress.update(
        bar,
        description=_description(spec),
        completed=done,
        total=sum(run["progress"]["max_steps"] for run in runs),
        note=_note(client, experiment, metrics.get(spec["task"]["name"])),
    )


def _description(spec: Mapping[str, Any]) -> str:
    """Task and method; of an analysis also the cell, since a report card has one of each."""
    cell = f" {spec['model']['cell']}" if spec["kind"] == "analysis" and spec["model"] else ""
    return f"{spec['task']['name']}{cell} {method_of(spec) or '':<21}"


def _note(client: Client, experiment: Mapping[str, Any], metric: str | None) -> str:
    """The state, and of a training how good it is: the latest validation value while it runs, the test values in the
    end."""
    runs, state = experiment["runs"], experiment["state"]
    shown = f"[{STATE_STYLES[state]}]{state}[/]"
    results = [value for run in runs if (value := value_of(run)) is not None]
    if state in ENDED and results:
        return f"{shown}  test {metric} {sum(results) / len(results):.3f}"
    running = next((run for run in runs if run["state"] == "running"), None)
    if running is None:
        return shown + ("  waiting for a worker" if state == "queued" and not client.catalogue("workers") else "")
    latest = client.latest(running["id"], f"valid.{metric}") if metric else None
    left = running["progress"]["eta_seconds"]
    return (
        f"{shown}  seed {running['seed']}"
        + (f"  valid {metric} {latest:.3f}" if latest is not None else "")
        + (f"  {left:.0f} s left" if left is not None else "")
    )
