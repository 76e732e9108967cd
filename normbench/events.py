"""A run as it happens: server-sent events, read from a stream and given their types."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from normbench.answers import Run


@dataclass(frozen=True, slots=True)
class StateChanged:
    """A run entered a state or an attempt; ``run`` is what is known of it now."""

    run: Run


@dataclass(frozen=True, slots=True)
class Measured:
    """Values that a run measured at one step, by series; ``seconds`` are of training so far."""

    run_id: str
    step: int
    seconds: float
    values: dict[str, float]


Event = StateChanged | Measured


@dataclass(frozen=True, slots=True)
class Message:
    """One server-sent event as it came; ``id`` is what to resume after."""

    kind: str
    data: str
    id: str | None


def messages(lines: Iterable[str]) -> Iterator[Message]:
    """Server-sent events from the lines of a stream; comments and anything unfinished are left out."""
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
    """Event of a message; None for an unknown kind.

    Args:
        run_id: of whom it tells where it does not say so itself.
    """
    if message.kind not in ("state", "measurement"):
        return None
    content: dict[str, Any] = json.loads(message.data)
    if message.kind == "state":
        return StateChanged(content)  # type: ignore[arg-type]
    return Measured(content.get("run_id", run_id), content["step"], content["seconds"], content["values"])
