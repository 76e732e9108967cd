"""Progress in a notebook: one line, which changes in place. Outside a notebook nothing is shown."""

import sys
import time
from collections.abc import Iterator
from typing import Any

from normbench.answers import ENDED, Run
from normbench.errors import Unavailable, Unreachable
from normbench.events import Event, Measured, StateChanged
from normbench.waiting import Watched

SECONDS = 0.25  # least time between two changes of the line


def show_looks(
    looks: Iterator[list[Watched] | Unreachable | Unavailable],
) -> Iterator[list[Watched] | Unreachable | Unavailable]:
    """Pass polls of one experiment or sweep on, and show each in a notebook."""
    line = ChangingLine.open()
    if line is None:
        yield from looks
        return
    for seen in looks:
        if isinstance(seen, Unreachable | Unavailable):
            line.change(0, 0, "The service does not answer; still trying.")
        else:
            line.change(*_progress(seen[0]), now=seen[0]["state"] in ENDED)
        yield seen


def show_events(events: Iterator[Event]) -> Iterator[Event]:
    """Pass the events of one or several runs on, and show their progress in a notebook."""
    line = ChangingLine.open()
    if line is None:
        yield from events
        return
    runs: dict[str, Run] = {}
    measured: Measured | None = None
    for event in events:
        if isinstance(event, StateChanged):
            runs[event.run["id"]] = event.run
        else:
            measured = event
        line.change(*_progress_of_runs(runs, measured), now=all(run["state"] in ENDED for run in runs.values()))
        yield event


class ChangingLine:
    """Output of a notebook's cell that shows one line. A new text takes the place of the text before it.

    Args:
        handle: IPython's handle of the output.
    """

    def __init__(self, handle: Any) -> None:
        self._handle, self._last = handle, 0.0

    @classmethod
    def open(cls) -> "ChangingLine | None":
        """Open an output below the cell that runs; None outside a notebook."""
        ipython: Any = sys.modules.get("IPython")
        shell = ipython and ipython.get_ipython()
        if not hasattr(shell, "kernel"):  # a terminal has none
            return None
        return cls(ipython.display.display(_Line(0, 0, "…"), display_id=True))

    def change(self, done: int, total: int, text: str, *, now: bool = False) -> None:
        """Show a bar and a text, unless the last change was a moment ago.

        Args:
            now: show it in any case.
        """
        if now or time.monotonic() - self._last > SECONDS:
            self._last = time.monotonic()
            self._handle.update(_Line(done, total, text))


class _Line:
    """Bar with a text, as a notebook shows it."""

    def __init__(self, done: int, total: int, text: str) -> None:
        self._done, self._total, self._text = done, total, text

    def __repr__(self) -> str:
        return self._text

    def _repr_html_(self) -> str:
        from normbench.display.html import progress_bar  # here: only notebooks need rich

        return progress_bar(self._done, self._total, self._text)


def _progress(seen: Any) -> tuple[int, int, str]:
    """Steps or runs that are done, their number in all, and a line on an experiment or sweep."""
    from normbench.display.progress import experiment_line, steps, sweep_line

    if "runs" in seen:
        return *steps(seen["runs"]), experiment_line(seen).whole
    return seen["progress"]["done"], seen["progress"]["total"], sweep_line(seen).whole


def _progress_of_runs(runs: dict[str, Run], measured: Measured | None) -> tuple[int, int, str]:
    from normbench.display.progress import steps

    done, total = steps(list(runs.values()))
    ended = sum(run["state"] in ENDED for run in runs.values())
    text = f"{ended} of {len(runs)} runs ended" if len(runs) != 1 else next(iter(runs.values()))["state"]
    if measured is None:
        return done, total, text
    run = runs.get(measured.run_id)
    if run is not None and run["state"] not in ENDED:
        done += max(measured.step - run["progress"]["step"], 0)
    values = ", ".join(f"{name} {value:.4g}" for name, value in measured.values.items())
    seed = f"seed {run['seed']}, " if run else ""
    return done, total, f"{text}; {seed}step {measured.step}: {values}"
