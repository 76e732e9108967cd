"""A run's whole state as bytes that say whose they are and whether they are whole.

Layout: one line of JSON (format, version, fingerprint, seed, SHA-256 of the rest), then what ``torch.save`` wrote,
which ``torch.load(weights_only=True)`` reads.
"""

import hashlib
import io
import json
from typing import Any

import torch

FORMAT = "normbench checkpoint"
VERSION = 3
MAX_HEADER = 1000  # bytes


class CorruptCheckpoint(ValueError):
    """The bytes are no whole checkpoint of this run."""


class OutdatedCheckpoint(CorruptCheckpoint):
    """The checkpoint is of another version of normbench, which kept other things."""


def pack(state: dict[str, Any], fingerprint: str, seed: int) -> bytes:
    """The state of the run of ``seed`` in the experiment with ``fingerprint``, as bytes."""
    buffer = io.BytesIO()
    torch.save(state, buffer)
    payload = buffer.getvalue()
    header = {
        "format": FORMAT,
        "version": VERSION,
        "fingerprint": fingerprint,
        "seed": seed,
        "sha256": hashlib.sha256(payload).hexdigest(),
    }
    return json.dumps(header).encode() + b"\n" + payload


def unpack(blob: bytes, fingerprint: str, seed: int) -> dict[str, Any]:
    """The state that ``pack`` made bytes of, its tensors on the CPU.

    Raises:
        OutdatedCheckpoint: another version of normbench wrote them.
        CorruptCheckpoint: they are torn, or belong to another experiment or seed.
    """
    line, _, payload = blob.partition(b"\n")
    try:
        header = json.loads(line[:MAX_HEADER])
    except ValueError:
        header = None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise CorruptCheckpoint("these bytes are no checkpoint")
    if header.get("version") != VERSION:
        raise OutdatedCheckpoint(
            f"the checkpoint has version {header.get('version')}, and this normbench goes on from {VERSION} alone"
        )
    for name, expected in (("fingerprint", fingerprint), ("seed", seed)):
        if header.get(name) != expected:
            raise CorruptCheckpoint(f"the checkpoint has {name} {header.get(name)}, and this run {expected}")
    if hashlib.sha256(payload).hexdigest() != header.get("sha256"):
        raise CorruptCheckpoint("the checkpoint is torn: its SHA-256 differs")
    state: dict[str, Any] = torch.load(io.BytesIO(payload), map_location="cpu", weights_only=True)
    return state
