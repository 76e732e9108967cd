"""A checkpoint as it is stored: the training's state, and its measurements that may not be in the database yet.

So a run that resumes has no gap in its curves, whenever it was killed: each measurement is in the database or in every
checkpoint written since. The alternative, to write a checkpoint only when its measurements are stored, would leave a
run without checkpoints while the database does not answer.

Layout: one line (the SHA-256 of the rest of the line, a space, the measurements as JSON), then what ``normcore`` wrote.
"""

import hashlib
import json
from collections.abc import Sequence

from normcore.events import Measured


class TornBundle(ValueError):
    """The bytes are not a whole checkpoint."""


def pack(state: bytes, measured: Sequence[Measured]) -> bytes:
    """The training's state and these measurements, as bytes."""
    rows = json.dumps([[m.step, m.seconds, dict(m.values)] for m in measured]).encode()
    return b" ".join((_sha256(rows), rows)) + b"\n" + state


def unpack(blob: bytes) -> tuple[bytes, tuple[Measured, ...]]:
    """What ``pack`` was given. Whether the state is whole, ``normcore`` checks when it reads it.

    Raises:
        TornBundle: the first line is not what ``pack`` wrote.
    """
    line, _, state = blob.partition(b"\n")
    expected, _, rows = line.partition(b" ")
    if _sha256(rows) != expected:
        raise TornBundle("the checkpoint is torn: the SHA-256 of its first line differs")
    return state, tuple(Measured(step, seconds, values) for step, seconds, values in json.loads(rows))


def _sha256(rows: bytes) -> bytes:
    return hashlib.sha256(rows).hexdigest().encode()
