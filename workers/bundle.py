"""A checkpoint as it is stored: the training's state, what it began on, and its measurements that may not be in the
database yet.

So a run that resumes has no gap in its curves, whenever it was killed: each measurement is in the database or in every
checkpoint written since. The alternative, to write a checkpoint only when its measurements are stored, would leave a
run without checkpoints while the database does not answer.

Layout: one line (the SHA-256 of the rest of the line, a space, start and measurements as JSON), then what ``normcore``
wrote.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from normcore.events import Measured
from service.experiments.machines import Start


class TornBundle(ValueError):
    """The bytes are not a whole checkpoint."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """Content of a checkpoint.

    Attributes:
        state: of the training; whether it is whole, ``normcore`` checks when it reads it.
        start: what the training began on.
        measured: what may not be in the database yet.
    """

    state: bytes
    start: Start
    measured: Sequence[Measured]


def pack(bundle: Bundle) -> bytes:
    """The bundle as bytes."""
    rows = [[m.step, m.seconds, dict(m.values)] for m in bundle.measured]
    line = json.dumps({"start": asdict(bundle.start), "measured": rows}).encode()
    return b" ".join((_sha256(line), line)) + b"\n" + bundle.state


def unpack(blob: bytes) -> Bundle:
    """Unpack the arguments of ``pack``.

    Raises:
        TornBundle: the first line is not what ``pack`` wrote.
    """
    line, _, state = blob.partition(b"\n")
    expected, _, content = line.partition(b" ")
    if _sha256(content) != expected:
        raise TornBundle("the checkpoint is torn: the SHA-256 of its first line differs")
    told = json.loads(content)
    measured = tuple(Measured(step, seconds, values) for step, seconds, values in told["measured"])
    return Bundle(state, Start(**told["start"]), measured)


def _sha256(line: bytes) -> bytes:
    return hashlib.sha256(line).hexdigest().encode()
