"""Progress bars until all runs have ended: one bar for each experiment or sweep, or one for the analyses of a report
card.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table as RichTable
from rich.text import Text

from normbench.answers import ENDED, Run
from normbench.client import Client
from normbench.display.experiments import divergences, has_diverged, has_diverged_altogether, subject, value_of, waits
from normbench.display.numbers import decimal, duration, format_count
from normbench.display.queue import Queue
from normbench.display.sweeps import diverged_cells
from normbench.display.sweeps import title as sweep_title
from normbench.errors import NormbenchError, Unavailable, Unreachable
from normbench.shown_answers import Experiment, Sweep
from normbench.waiting import Watched

Shown = TypeVar("Shown")

STATE_STYLES = {"succeeded": "green", "failed": "red", "cancelled": "yellow", "running": "cyan", "queued": "dim"}
DIVERGED_STYLE = "yellow"
BAR_WIDTH = 12
INDENT = "  "  # of a reason below a bar
TELL_SECONDS = 30.0  # between two lines about an experiment, if the output is not a terminal


class Part(NamedTuple):
    """Part of a note. If a terminal is too narrow for all parts, those with the highest ``optional`` are left out."""

    text: str
    style: str = ""
    optional: int = 0


class Note(NamedTuple):
    """Text beside a bar: a state, further parts, and the reason why nothing runs."""

    state: str
    style: str = ""
    parts: Sequence[Part] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar, its numbers and a note, in one line. A reason that does not fit stands in a line below.

    Attributes:
        amber: colours the bar for a run or cell that diverged.
    """

    done: int
    total: int
    note: Note
    amber: bool = False

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        bar = ProgressBar(self.total, self.done, BAR_WIDTH)
        if self.amber:
            bar.complete_style = bar.finished_style = DIVERGED_STYLE
        numbers = f"{self.done}/{self.total}"
        room = options.max_width - BAR_WIDTH - len(numbers) - 2
        parts = _fit([Part(self.note.state, self.note.style), *self.note.parts], room)
        reason = self.note.reason
        is_beside = bool(reason) and _width([*parts, Part(reason)]) <= room
        line = RichTable.grid(padding=(0, 1, 0, 0))
        line.add_column(width=BAR_WIDTH)
        line.add_column(no_wrap=True)
        line.add_column(overflow="fold")
        line.add_row(bar, numbers, _joined([*parts, *([Part(reason)] if is_beside else [])]))
        yield line
        if reason and not is_beside:
            yield Padding(Text(reason), (0, 0, 0, len(INDENT)), expand=False)


def _fit(parts: Sequence[Part], room: int) -> list[Part]:
    """Leave out optional parts until the others fit into ``room``, or none is optional."""
    kept = list(parts)
    while _width(kept) > room and any(part.optional for part in kept):
        kept.remove(max(kept, key=lambda part: part.optional))
    return kept


def _width(parts: Sequence[Part]) -> int:
    return _joined(parts).cell_len


def _joined(parts: Sequence[Part]) -> Text:
    return Text("  ").join(Text(part.text, part.style) for part in parts)


def watch(client: Client, experiment_ids: Sequence[str], console: Console) -> list[Experiment]:
    """Show the progress of experiments until all have ended, even if the service is away for a while.

    Returns:
        The experiments after they have ended.

    Raises:
        NormbenchError: there is no such experiment, or the service was away for ten minutes.
    """
    metrics, queue = dict[str, str](), Queue(client)

    def show(experiment: Experiment) -> RenderableType:
        metrics.update({} if metrics else _metrics(client))
        return show_experiment(client, queue, experiment, metrics.get(experiment["spec"]["task"]["name"]))

    return _watch(client.looks(experiment_ids), _each(show), _each(experiment_line), console)


def watch_analyses(client: Client, title: str, experiment_ids: Sequence[str], console: Console) -> list[Experiment]:
    """Show one bar for all these analyses until they have ended. Returns and errors are as for ``watch``."""
    queue = Queue(client)

    def show(analyses: Sequence[Experiment]) -> list[RenderableType]:
        bar = Bar(_count_ended(analyses), len(analyses), _note_of_analyses(queue, analyses))
        return [Text(f"{title}: {format_count(len(analyses), 'measurement')}"), bar]

    def lines(analyses: Sequence[Experiment]) -> list[ProgressLine]:
        state = f"{title}: {_count_ended(analyses)} of {format_count(len(analyses), 'measurement')} ended"
        return [ProgressLine(title, state, f"{state}; {_now(analyses)}", _count_ended(analyses) == len(analyses))]

    return _watch(client.looks(experiment_ids), show, lines, console)


def _count_ended(analyses: Sequence[Experiment]) -> int:
    return sum(analysis["state"] in ENDED for analysis in analyses)


def _now(analyses: Sequence[Experiment]) -> str:
    """The analyses that run, or else that wait next."""
    running = [subject(analysis) for analysis in analyses if analysis["state"] == "running"]
    waiting = [subject(analysis) for analysis in analyses if analysis["state"] == "queued"]
    return f"now {', '.join(running)}" if running else f"next {', '.join(waiting[:1])}"


def _note_of_analyses(queue: Queue, analyses: Sequence[Experiment]) -> Note:
    going_on = [analysis for analysis in analyses if analysis["state"] not in ENDED]
    if going_on:
        return Note(_now(analyses), reason=queue.why(going_on[0]) if all(map(waits, going_on)) else "")
    lost = sum(analysis["state"] != "succeeded" for analysis in analyses)
    return Note(f"{lost} did not succeed", STATE_STYLES["failed"]) if lost else Note("all measured", "green")


def watch_sweep(client: Client, sweep_id: str, console: Console) -> Sweep:
    """Show the progress of a sweep until all its runs have ended, and return the sweep.

    Raises:
        NormbenchError: there is no such sweep, or the service was away for ten minutes.
    """
    [sweep] = _watch(client.looks_at_sweep(sweep_id), _each(_render_sweep), _each(sweep_line), console)
    return sweep


class ProgressLine(NamedTuple):
    """Progress as a line.

    Attributes:
        id: id of what the line is about.
        state: the line without its progress.
        whole: the line with its progress.
        has_ended: whether there will be no further progress. Then the line is not printed.
    """

    id: str
    state: str
    whole: str
    has_ended: bool


def _each(function: Callable[[Watched], Shown]) -> Callable[[Sequence[Watched]], list[Shown]]:
    """Make a function that calls ``function`` for each experiment or sweep."""
    return lambda seen: [function(one) for one in seen]


def _watch(
    looks: Iterator[list[Watched] | Unreachable | Unavailable],
    show: Callable[[Sequence[Watched]], list[RenderableType]],
    lines: Callable[[Sequence[Watched]], list[ProgressLine]],
    console: Console,
) -> list[Watched]:
    """Show bars on a terminal. Elsewhere, print lines to standard error meanwhile, and the bars in the end."""
    shown = list[RenderableType]()
    if not console.is_terminal:
        looks = _print_changes(looks, lines)
    try:
        return _show_until_end(looks, show, console, shown)
    finally:
        if shown and not console.is_terminal:
            console.line()  # rich ends a live display with a line only on a terminal


def _print_changes(
    looks: Iterator[list[Watched] | Unreachable | Unavailable], lines: Callable[[Sequence[Watched]], list[ProgressLine]]
) -> Iterator[list[Watched] | Unreachable | Unavailable]:
    """Pass the polls on, and print a line to standard error: when a state has changed, else every 30 seconds.

    Args:
        looks: polls of experiments or sweeps.
        lines: function that makes the lines of a poll.
    """
    errors = Console(stderr=True, highlight=False, soft_wrap=True)
    told = dict[str, tuple[str, float]]()
    for seen in looks:
        for line in lines(seen) if isinstance(seen, list) else ():
            last, at = told.get(line.id, ("", 0.0))
            if not line.has_ended and (line.state != last or time.monotonic() > at + TELL_SECONDS):
                told[line.id] = line.state, time.monotonic()
                errors.print(Text(line.whole))
        yield seen


def experiment_line(experiment: Experiment) -> ProgressLine:
    """Progress of an experiment as a line."""
    done, total = steps(experiment["runs"])
    ended = sum(run["state"] in ENDED for run in experiment["runs"])
    of = f", {ended} of {format_count(len(experiment['runs']), 'run')} ended" if len(experiment["runs"]) > 1 else ""
    state = f"{experiment['id']}  {subject(experiment)}: {experiment['state']}{of}"
    return ProgressLine(experiment["id"], state, f"{state}, step {done} of {total}", experiment["state"] in ENDED)


def sweep_line(sweep: Sweep) -> ProgressLine:
    """Progress of a sweep as a line."""
    progress = sweep["progress"]
    state = f"{sweep_title(sweep)}: {sweep['state']}"
    whole = f"{state}, {progress['done']} of {format_count(progress['total'], 'run')} ended"
    return ProgressLine(sweep["id"], state, whole, sweep["state"] in ENDED)


def _show_until_end(
    looks: Iterator[list[Watched] | Unreachable | Unavailable],
    show: Callable[[Sequence[Watched]], list[RenderableType]],
    console: Console,
    shown: list[RenderableType],
) -> list[Watched]:
    """Show each poll until all have ended; return the last poll. ``shown`` is filled with the parts on the console."""
    heard = time.monotonic()
    with Live(console=console, refresh_per_second=4) as live:
        for seen in looks:
            if isinstance(seen, Unreachable | Unavailable):
                away = duration(time.monotonic() - heard)
                live.update(Group(*shown, Text(f"The service has not answered for {away}; still trying.", "yellow")))
                continue
            heard = time.monotonic()
            shown[:] = show(seen)
            live.update(Group(*shown))
            if all(one["state"] in ENDED for one in seen):
                return seen
    raise AssertionError("unreachable")


def _metrics(client: Client) -> dict[str, str]:
    """Name of the metric of each task; empty if the service does not answer."""
    try:
        return {task["name"]: task["metric"]["name"] for task in client.catalogue("tasks") if task["metric"]}
    except NormbenchError:
        return {}


def show_experiment(client: Client, queue: Queue, experiment: Experiment, metric: str | None) -> RenderableType:
    """Title and bar of an experiment.

    Args:
        metric: name of the task's metric, None if it is not known.
    """
    done, total = steps(experiment["runs"])
    amber = any(map(has_diverged, experiment["runs"]))
    bar = Bar(done, total, _note(client, queue, experiment, metric), amber)
    return Group(Text(f"{experiment['id']}  {subject(experiment)}"), bar)


def _render_sweep(sweep: Sweep) -> RenderableType:
    done, total, left = sweep["progress"]["done"], sweep["progress"]["total"], sweep["progress"]["eta_seconds"]
    lost = len(diverged_cells(sweep))
    parts = [
        Part(f"{duration(left)} left") if left is not None else None,
        Part(f"{format_count(lost, 'experiment')} diverged", DIVERGED_STYLE) if lost else None,
    ]
    note = Note(sweep["state"], STATE_STYLES[sweep["state"]], [part for part in parts if part])
    return Group(Text(sweep_title(sweep)), Bar(done, total, note, amber=lost > 0))


def steps(runs: Sequence[Run]) -> tuple[int, int]:
    """Steps done and steps in all, summed over the runs.

    A run that succeeded counts as having done all its steps, except a diverged run, which counts the steps it did.
    """
    total = sum(run["progress"]["max_steps"] for run in runs)
    full = [run["state"] == "succeeded" and not has_diverged(run) for run in runs]
    done = sum(run["progress"]["max_steps" if is_full else "step"] for run, is_full in zip(runs, full, strict=True))
    return done, total


def seconds_left(runs: Sequence[Run]) -> float | None:
    """Estimate the seconds until all runs have ended, at the pace of the running ones; None while no pace is known."""
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
    """Phases of the evaluations that run now, with the number of runs in each phase if there are several runs."""
    going_on = [run["progress"].get("phase") for run in runs if run["state"] == "running"]
    counts = Counter(phase for phase in going_on if phase)
    return [f"{phase} ({format_count(count, 'run')})" if len(runs) > 1 else phase for phase, count in counts.items()]


def _note(client: Client, queue: Queue, experiment: Experiment, metric: str | None) -> Note:
    """Note of an experiment: its state, the runs that ended, the time left, why it waits, and its best known value."""
    runs, state = experiment["runs"], experiment["state"]
    lost, value, reason = divergences(runs), _value(client, runs, metric), ""
    if state == "succeeded" and has_diverged_altogether(experiment):
        head, style, lost = lost or state, DIVERGED_STYLE, None
    else:
        head, style = state, STATE_STYLES[state]
    parts = [Part(lost, DIVERGED_STYLE, optional=4) if lost else None, Part(value, optional=2) if value else None]
    if state not in ENDED:
        ended = sum(run["state"] in ENDED for run in runs)
        left = seconds_left(runs)
        parts += [
            Part(f"{ended} of {len(runs)} ended") if len(runs) > 1 else None,
            Part(f"{duration(left)} left", optional=1) if left is not None else None,
            *(Part(phase, optional=3) for phase in phases(runs)),
        ]
        reason = queue.why(experiment) if waits(experiment) else ""
    return Note(head, style, [part for part in parts if part], reason)


def _value(client: Client, runs: Sequence[Run], metric: str | None) -> str | None:
    """Mean test value of the runs that did not diverge, if no run is running; else the running run's last validation
    value."""
    results = [value for run in runs if not has_diverged(run) and (value := value_of(run)) is not None]
    running = next((run for run in runs if run["state"] == "running"), None)
    if running is None or metric is None:
        return f"test {metric} {decimal(sum(results) / len(results))}" if results else None
    series = f"valid.{metric}"
    try:
        curve: Mapping[str, object] | None = client.measurements(running["id"], series=[series], max_points=4).get(
            series
        )
    except NormbenchError:
        return None
    points = curve["points"] if curve else None
    return f"valid {metric} {decimal(points[-1][1])}" if isinstance(points, list) and points else None
