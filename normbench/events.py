"""Events of a run while it trains: server-sent events, read from a stream and given types."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from normbench.answers import Run


@dataclass(frozen=True, slots=True)
class StateChanged:
    """Event: a run entered a state or began an attempt. ``run`` is the run as it is now."""

    run: Run


@dataclass(frozen=True, slots=True)
class Measured:
    """Event: a run measured values at one step. ``values`` are by series, ``seconds`` are training seconds so far."""

    run_id: str
    step: int
    seconds: float
    values: dict[str, float]


Event = StateChanged | Measured


@dataclass(frozen=True, slots=True)
class Message:
    """One server-sent event, not yet parsed. A stream that is opened again resumes after ``id``."""

    kind: str
    data: str
    id: str | None


def messages(lines: Iterable[str]) -> Iterator[Message]:
    """Server-sent events from the lines of a stream. Comments and an unfinished last event are left out."""
    kind, data, last_id = "message", list[str](), None
    for line in lines:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            kind = value
        elif name == "data":
            data.append(value)
        elif name == "id":
            last_id = value
        elif not line:
            if data:
                yield Message(kind, "\n".join(data), last_id)
            kind, data = "message", []


def event(message: Message, run_id: str) -> Event | None:
    """Parse a message into an event; None for a message of an unknown kind.

    Args:
        run_id: run of a measurement that does not name its run.
    """
    if message.kind not in ("state", "measurement"):
        return None
    content: dict[str, Any] = json.loads(message.data)
    if message.kind == "state":
        return StateChanged(content)  # type: ignore[arg-type]
    return Measured(content.get("run_id", run_id), content["step"], content["seconds"], content["values"])
