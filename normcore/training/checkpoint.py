"""Checkpoint: the whole state of a run as bytes, with a header that names the run and has a digest of the content.

Layout: one line of JSON (format, version, fingerprint, seed, SHA-256 of the rest), then the output of ``torch.save``;
``torch.load(weights_only=True)`` reads it.
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
    """The bytes are damaged, or are not a checkpoint of this run."""


class OutdatedCheckpoint(CorruptCheckpoint):
    """The checkpoint was written by another version of normbench, with another format of the state."""


def pack(state: dict[str, Any], fingerprint: str, seed: int) -> bytes:
    """Write the state of a run as bytes; ``fingerprint`` and ``seed`` name the run."""
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
    """Read the state of a run from bytes that ``pack`` wrote; tensors are loaded to the CPU.

    Raises:
        OutdatedCheckpoint: another version of normbench wrote the bytes.
        CorruptCheckpoint: the bytes are incomplete or damaged, or belong to another experiment or seed.
    """
    line, _, payload = blob.partition(b"\n")
    try:
        header = json.loads(line[:MAX_HEADER])
    except ValueError:
        header = None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise CorruptCheckpoint("these bytes are not a checkpoint of normbench")
    if header.get("version") != VERSION:
        raise OutdatedCheckpoint(
            f"the checkpoint has version {header.get('version')}, but this normbench reads only version {VERSION}"
        )
    for name, expected in (("fingerprint", fingerprint), ("seed", seed)):
        if header.get(name) != expected:
            raise CorruptCheckpoint(f"the checkpoint has {name} {header.get(name)}, but this run has {expected}")
    if hashlib.sha256(payload).hexdigest() != header.get("sha256"):
        raise CorruptCheckpoint("the checkpoint is damaged: its SHA-256 differs")
    state: dict[str, Any] = torch.load(io.BytesIO(payload), map_location="cpu", weights_only=True)
    return state
