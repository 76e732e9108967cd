"""Calls that hang end in time for their caller, and do not disturb other calls."""

import asyncio
import threading
import time
from collections.abc import Iterator

import pytest

from service.errors import NotFound, Unavailable
from service.timed_calls import THREADS, StoreThreads, within


def missing() -> None:
    raise NotFound("nothing there")


def late() -> None:
    raise TimeoutError("of the store itself")


def test_a_call_that_is_answered_has_its_result_or_its_error() -> None:
    assert within(20, lambda: 7) == 7
    with pytest.raises(NotFound, match="nothing there"):
        within(20, missing)
    with pytest.raises(TimeoutError, match="of the store itself"):
        within(20, late)


def test_a_call_that_hangs_ends_in_time() -> None:
    answers = threading.Event()
    with pytest.raises(TimeoutError, match=r"no answer within 0\.1 s"):
        within(0.1, answers.wait)
    answers.set()


def test_few_of_many_hanging_calls_take_a_thread_and_all_end_in_time() -> None:
    answers, begun = threading.Event(), list[int]()

    def hang() -> None:
        begun.append(1)
        answers.wait()

    async def ask() -> list[object]:
        store, began = StoreThreads(seconds=0.3, threads=2), time.monotonic()
        ends = await asyncio.gather(*(store.call(hang) for _ in range(50)), return_exceptions=True)
        assert time.monotonic() - began < 5
        assert len(begun) == 2
        answers.set()
        return list(ends)

    ends = asyncio.run(ask())
    assert len(ends) == 50
    for end in ends:
        assert isinstance(end, Unavailable)
        assert "does not answer within 0.3 s" in end.detail


def test_threads_that_are_answered_late_are_free_again() -> None:
    answers = threading.Event()

    async def ask() -> int:
        store = StoreThreads(seconds=0.2, threads=1)
        with pytest.raises(Unavailable):
            await store.call(answers.wait)
        with pytest.raises(Unavailable):
            await store.call(lambda: 7)
        answers.set()
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            try:
                return await store.call(lambda: 7)
            except Unavailable:
                continue
        raise AssertionError("the thread is not free")

    assert asyncio.run(ask()) == 7


def no_thread(thread: threading.Thread) -> None:
    raise RuntimeError("can't start new thread")


def test_a_thread_that_cannot_be_started_leaves_its_place_free(monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask() -> int:
        store = StoreThreads(seconds=20, threads=1)
        for _ in range(3):
            with monkeypatch.context() as system:
                system.setattr(threading.Thread, "start", no_thread)
                with pytest.raises(RuntimeError, match="can't start new thread"):
                    await store.call(lambda: 7)
        return await store.call(lambda: 7)

    assert asyncio.run(ask()) == 7


def test_calls_that_hang_take_few_threads_until_they_end(monkeypatch: pytest.MonkeyPatch) -> None:
    answers, begun = threading.Event(), list[int]()

    def hang() -> None:
        begun.append(1)
        answers.wait()

    for k in range(THREADS + 3):
        told = "no answer within" if k < THREADS else f"not asked: {THREADS} earlier requests got no answer within"
        with pytest.raises(TimeoutError, match=rf"\] {told} 0\.05 s"):
            within(0.05, hang)
    assert len(begun) == THREADS
    answers.set()
    assert within(20, lambda: 7) == 7
    for _ in range(THREADS + 1):
        with monkeypatch.context() as system:
            system.setattr(threading.Thread, "start", no_thread)
            with pytest.raises(RuntimeError, match="can't start new thread"):
                within(20, hang)
    assert within(20, lambda: 7) == 7


def test_the_pieces_of_a_file_come_in_order_and_a_piece_that_hangs_ends_them() -> None:
    answers = threading.Event()

    async def ask() -> list[bytes]:
        store, taken = StoreThreads(seconds=0.3), list[bytes]()
        assert [piece async for piece in store.pieces(iter([b"a", b"bc"]))] == [b"a", b"bc"]

        def hanging() -> Iterator[bytes]:
            yield b"a"
            answers.wait()

        async def take() -> None:
            async for piece in store.pieces(hanging()):
                taken.append(piece)

        with pytest.raises(Unavailable):
            await take()
        answers.set()
        return taken

    assert asyncio.run(ask()) == [b"a"]
