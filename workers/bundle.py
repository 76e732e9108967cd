"""Checkpoint as it is stored: the state of the training, the machine and code on which it began, and measurements that
may not be in the database yet.

So a run that resumes has no gap in its curves, whenever it was killed: each measurement is in the database or in every
checkpoint written since. The alternative, to write a checkpoint only when its measurements are stored, would leave a
run without checkpoints while the database does not answer.

Layout: one line (the SHA-256 of the rest of the line, a space, start and measurements as JSON), then the state, as
``normcore`` wrote it.
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
        state: state of the training; ``normcore`` checks that it is whole when it reads it.
        start: machine and code on which the training began.
        measured: measurements that may not be in the database yet.
    """

    state: bytes
    start: Start
    measured: Sequence[Measured]


def pack(bundle: Bundle) -> bytes:
    """Write a checkpoint as bytes."""
    rows = [[m.step, m.seconds, dict(m.values)] for m in bundle.measured]
    line = json.dumps({"start": asdict(bundle.start), "measured": rows}).encode()
    return b" ".join((_sha256(line), line)) + b"\n" + bundle.state


def unpack(blob: bytes) -> Bundle:
    """Read a checkpoint from the bytes that ``pack`` wrote.

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
