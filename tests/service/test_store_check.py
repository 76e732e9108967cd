"""State of the artifact store is known in time, also if the store hangs."""

import threading

import pytest

from service import store_check
from service.artifacts import Artifacts
from service.store_check import StoreCheck


class Hanging(Artifacts):
    """A store on a network file system whose server is away."""

    def __init__(self) -> None:
        self.back, self.asked = threading.Event(), 0

    def check_writable(self, size: int = 1) -> None:
        self.asked += 1
        self.back.wait(20)


def test_a_store_that_hangs_is_named_in_time_and_holds_one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_check, "STORE_SECONDS", 0.05)
    store = Hanging()
    check = StoreCheck(store)
    for _ in range(3):
        assert "does not answer" in str(check.problem())
    assert store.asked == 1
    store.back.set()
    monkeypatch.setattr(store_check, "STORE_SECONDS", 10.0)
    assert check.problem() is None
