"""A checkpoint that is damaged, or that belongs to another run, is refused."""

import pytest
import torch

from normcore.training.checkpoint import VERSION, CorruptCheckpoint, OutdatedCheckpoint, pack, unpack

WEIGHTS = torch.arange(1000.0)
STATE = {"weights": WEIGHTS, "step": 3, "best": None, "target_hit": (1, 2.5)}
BLOB = pack(STATE, "abc", 0)


def test_packed_state_is_unpacked_unchanged() -> None:
    state = unpack(BLOB, "abc", 0)
    assert torch.equal(state.pop("weights"), WEIGHTS)
    assert state == {"step": 3, "best": None, "target_hit": (1, 2.5)}


@pytest.mark.parametrize("size", [0, 1, 50, 200, 1000, len(BLOB) - 1])
def test_truncated_checkpoint_is_refused(size: int) -> None:
    with pytest.raises(CorruptCheckpoint):
        unpack(BLOB[:size], "abc", 0)


@pytest.mark.parametrize("place", [300, len(BLOB) // 2, len(BLOB) - 1])
def test_checkpoint_with_a_flipped_bit_is_refused(place: int) -> None:
    flipped = bytearray(BLOB)
    flipped[place] ^= 1
    with pytest.raises(CorruptCheckpoint, match="is damaged"):
        unpack(bytes(flipped), "abc", 0)


@pytest.mark.parametrize(("fingerprint", "seed", "name"), [("abd", 0, "fingerprint"), ("abc", 1, "seed")])
def test_checkpoint_of_another_run_is_refused(fingerprint: str, seed: int, name: str) -> None:
    with pytest.raises(CorruptCheckpoint, match=f"the checkpoint has {name}"):
        unpack(BLOB, fingerprint, seed)


def test_checkpoint_of_another_version_is_refused() -> None:
    """A checkpoint of an older version is undamaged, but it holds other content."""
    header = f'"version": {VERSION}'.encode()
    assert header in BLOB
    for version in (VERSION - 1, VERSION + 1):
        other = BLOB.replace(header, f'"version": {version}'.encode(), 1)
        with pytest.raises(
            OutdatedCheckpoint, match=f"has version {version}, but this normbench reads only version {VERSION}"
        ):
            unpack(other, "abc", 0)
    assert issubclass(OutdatedCheckpoint, CorruptCheckpoint)


@pytest.mark.parametrize("blob", [b"", b"\n", b"[1]\n", b"\xff\n", b"{}\n" + BLOB])
def test_arbitrary_bytes_are_refused(blob: bytes) -> None:
    with pytest.raises(CorruptCheckpoint, match="not a checkpoint"):
        unpack(blob, "abc", 0)
