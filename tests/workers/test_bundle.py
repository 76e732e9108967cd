"""Bundle of a checkpoint: it comes back as it was, or not at all."""

import pytest

from normcore.events import Measured
from service.experiments.machines import Start
from workers.bundle import Bundle, TornBundle, pack, unpack

STATE = b"\x00\n any bytes \xff"
MEASURED = (
    Measured(10, 0.1 + 0.2, {"train.loss": 1 / 3, "valid.accuracy": 0.5}),
    Measured(20, 2.5, {"train.loss": 1e-300}),
)


START = Start("here: a processor, 1 thread", "2.9", [0.02, 0.1 + 0.2], moved=True)


@pytest.mark.parametrize("measured", [(), MEASURED])
def test_state_and_measurements_come_back_bit_for_bit(measured: tuple[Measured, ...]) -> None:
    bundle = Bundle(STATE, START, measured)
    assert unpack(pack(bundle)) == bundle


def test_a_bundle_with_a_torn_or_changed_first_line_is_refused() -> None:
    blob = pack(Bundle(b"", START, MEASURED))
    line = len(blob) - 1
    for place in range(line):
        changed = bytearray(blob)
        changed[place] ^= 1
        for wrong in (bytes(changed), blob[:place]):
            with pytest.raises(TornBundle):
                unpack(wrong)


@pytest.mark.parametrize("blob", [b"", b"[]\n", b"null\n", b'{"measured": 1}\nx', b"\xff\xfe"])
def test_bytes_that_are_not_a_bundle_are_refused(blob: bytes) -> None:
    with pytest.raises(TornBundle):
        unpack(blob)
