"""Experiments and sweeps while they run: a bar for each, over all of its runs, until all have ended."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table as RichTable
from rich.text import Text

from normbench.answers import ENDED, Experiment, Run, Sweep
from normbench.client import Client
from normbench.display.experiments import subject, value_of, waits
from normbench.display.numbers import counted, duration
from normbench.display.queue import Queue
from normbench.display.sweeps import title as sweep_title
from normbench.errors import NormbenchError, Unavailable, Unreachable
from normbench.waiting import Watched

STATE_STYLES = {"succeeded": "green", "failed": "red", "cancelled": "yellow", "running": "cyan", "queued": "dim"}
BAR_WIDTH = 16


def watch(client: Client, experiment_ids: Sequence[str], console: Console) -> list[Experiment]:
    """Show the experiments until all have ended, however long the service is away in between.

    Returns:
        The experiments as they ended.

    Raises:
        NormbenchError: there is no such experiment, or the service was away for ten minutes.
    """
    metrics, queue = dict[str, str](), Queue(client)

    def show(experiment: Experiment) -> RenderableType:
        metrics.update({} if metrics else _metrics(client))
        return _shown(client, queue, experiment, metrics.get(experiment["spec"]["task"]["name"]))

    return _watch(client.looks(experiment_ids), show, console)


def watch_sweep(client: Client, sweep_id: str, console: Console) -> Sweep:
    """Show a sweep until all of its runs have ended, and give it as it ended.

    Raises:
        NormbenchError: there is no such sweep, or the service was away for ten minutes.
    """
    [sweep] = _watch(client.looks_at_sweep(sweep_id), _shown_sweep, console)
    return sweep


def _watch(
    looks: Iterator[list[Watched] | Unreachable | Unavailable],
    show: Callable[[Watched], RenderableType],
    console: Console,
) -> list[Watched]:
    shown = list[RenderableType]()
    try:
        return _until_ended(looks, show, console, shown)
    finally:
        if shown and not console.is_terminal:
            console.line()  # rich ends a live display with a line only on a terminal


def _until_ended(
    looks: Iterator[list[Watched] | Unreachable | Unavailable],
    show: Callable[[Watched], RenderableType],
    console: Console,
    shown: list[RenderableType],
) -> list[Watched]:
    """What was watched, as it ended; ``shown`` holds what is on the console."""
    heard = time.monotonic()
    with Live(console=console, refresh_per_second=4) as live:
        for seen in looks:
            if isinstance(seen, Unreachable | Unavailable):
                away = duration(time.monotonic() - heard)
                live.update(Group(*shown, Text(f"The service has not answered for {away}; trying on.", "yellow")))
                continue
            heard = time.monotonic()
            shown[:] = [show(one) for one in seen]
            live.update(Group(*shown))
            if all(one["state"] in ENDED for one in seen):
                return seen
    raise AssertionError("unreachable")


def _metrics(client: Client) -> dict[str, str]:
    """What each task is judged by; nothing while the service does not say."""
    try:
        return {task["name"]: task["metric"]["name"] for task in client.catalogue("tasks") if task["metric"]}
    except NormbenchError:
        return {}


def _shown(client: Client, queue: Queue, experiment: Experiment, metric: str | None) -> RenderableType:
    done, total = steps(experiment["runs"])
    line = _line(done, total, _note(client, queue, experiment, metric))
    return Group(Text(f"{experiment['id']}  {subject(experiment)}"), line)


def _shown_sweep(sweep: Sweep) -> RenderableType:
    done, total, left = sweep["progress"]["done"], sweep["progress"]["total"], sweep["progress"]["eta_seconds"]
    note = Text.assemble(
        (sweep["state"], STATE_STYLES[sweep["state"]]), f"  {duration(left)} left" if left is not None else ""
    )
    return Group(Text(sweep_title(sweep)), _line(done, total, note))


def _line(done: int, total: int, note: Text) -> RichTable:
    line = RichTable.grid(padding=(0, 1, 0, 0))
    line.add_column(width=BAR_WIDTH)
    line.add_column(no_wrap=True)
    line.add_column(overflow="fold")
    line.add_row(ProgressBar(total, done, BAR_WIDTH), f"{done}/{total}", note)
    return line


def steps(runs: Sequence[Run]) -> tuple[int, int]:
    """Steps done and steps in all, over all seeds; a run that has succeeded needs no more of them."""
    total = sum(run["progress"]["max_steps"] for run in runs)
    done = sum(run["progress"]["max_steps" if run["state"] == "succeeded" else "step"] for run in runs)
    return done, total


def seconds_left(runs: Sequence[Run]) -> float | None:
    """Until all seeds have ended at the pace of those that run now; None while that is not known."""
    left = pace = longest = 0.0
    for run in runs:
        if run["state"] in ENDED:
            continue
        steps_left = run["progress"]["max_steps"] - run["progress"]["step"]
        left += steps_left
        eta = run["progress"]["eta_seconds"]
        if run["state"] == "running" and eta:
            pace += steps_left / eta
            longest = max(longest, eta)
    return max(left / pace, longest) if pace else None


def phases(runs: Sequence[Run]) -> list[str]:
    """What is going on of evaluations, and in how many runs where there are several."""
    going_on = [run["progress"].get("phase") for run in runs if run["state"] == "running"]
    counts = Counter(phase for phase in going_on if phase)
    return [f"{phase} ({counted(count, 'run')})" if len(runs) > 1 else phase for phase, count in counts.items()]


def _note(client: Client, queue: Queue, experiment: Experiment, metric: str | None) -> Text:
    """The state, and what explains it: why it waits, how good it is so far, how good it became."""
    runs, state = experiment["runs"], experiment["state"]
    parts = [_value(client, runs, metric)]
    if state not in ENDED:
        ended = sum(run["state"] in ENDED for run in runs)
        left = seconds_left(runs)
        parts += [
            f"{ended} of {counted(len(runs), 'run')} ended" if len(runs) > 1 else None,
            f"{duration(left)} left" if left is not None else None,
            *phases(runs),
            queue.why(experiment) if waits(experiment) else None,
        ]
    return Text.assemble((state, STATE_STYLES[state]), *(f"  {part}" for part in parts if part))


def _value(client: Client, runs: Sequence[Run], metric: str | None) -> str | None:
    """The mean test value once there is one of every success; before that the latest validation value of a run."""
    results = [value for run in runs if (value := value_of(run)) is not None]
    running = next((run for run in runs if run["state"] == "running"), None)
    if running is None or metric is None:
        return f"test {metric} {sum(results) / len(results):.3f}" if results else None
    series = f"valid.{metric}"
    try:
        curve: Mapping[str, object] | None = client.measurements(running["id"], series=[series], max_points=4).get(
            series
        )
    except NormbenchError:
        return None
    points = curve["points"] if curve else None
    return f"valid {metric} {points[-1][1]:.3f}" if isinstance(points, list) and points else None
