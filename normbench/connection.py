"""HTTP to one service: answers as plain values, refusals as errors, and what is safe is tried again."""

import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

import httpx

from normbench.errors import BY_STATUS, NormbenchError, Refused, Unavailable, Unreachable

TIMEOUT_SECONDS = 30.0  # for one answer
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0  # seconds between two tries

Answer = TypeVar("Answer")


class Connection:
    """Calls of one service.

    Args:
        url: where the service is.
        key: the API key, where it asks for one.
        patience: for how many seconds a request that is safe to repeat is tried again while nothing answers.

    Raises:
        Unreachable: the URL is none.
    """

    def __init__(self, url: str, key: str | None, patience: float) -> None:
        self.url, self.patience = url, patience
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        try:
            self._http = httpx.Client(base_url=url, headers=headers, timeout=TIMEOUT_SECONDS)
        except httpx.InvalidURL as error:
            raise Unreachable(f"{url} is no address ({error}); set NORMBENCH_URL") from None
        if self._http.base_url.scheme not in ("http", "https") or not self._http.base_url.host:
            raise Unreachable(f"{url} is no address; set NORMBENCH_URL to one like http://127.0.0.1:8000")

    def close(self) -> None:
        self._http.close()

    def call(self, method: str, path: str, *, safe: bool, **request: Any) -> dict[str, Any]:
        """The answer's JSON object.

        Args:
            safe: whether asking twice is as good as asking once.

        Raises:
            Refused: or one of its kinds, when the service says no.
            Unreachable: nothing answers, or no normbench does.
        """

        def once() -> dict[str, Any]:
            with self._translated():
                answer = self._http.request(method, path, **request)
            _raise_for(answer)
            return self._content(answer)

        return self.patiently(once) if safe else once()

    @contextmanager
    def stream(self, path: str, **request: Any) -> Iterator[httpx.Response]:
        """An answer to be read piece by piece, tried once.

        Raises:
            Refused: or one of its kinds, when the service says no.
            Unreachable: nothing answers, or the connection breaks while it is read.
        """
        with self._translated(), self._http.stream("GET", path, **request) as answer:
            if answer.is_error:
                answer.read()
            _raise_for(answer)
            yield answer

    def patiently(self, once: Callable[[], Answer]) -> Answer:
        """Try, and try again after growing pauses, while the service is away; then raise what came last."""
        deadline = time.monotonic() + self.patience
        for pause in pauses():
            try:
                return once()
            except (Unreachable, Unavailable):
                if time.monotonic() + pause > deadline:
                    raise
            time.sleep(pause)
        raise AssertionError("unreachable")

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except httpx.TransportError as error:
            raise Unreachable(
                f"no service answers at {self.url} ({error}); start one with `normbench up`, or set NORMBENCH_URL"
            ) from None

    def _content(self, answer: httpx.Response) -> dict[str, Any]:
        try:
            content = answer.json()
        except ValueError:
            content = None
        if not isinstance(content, dict):
            raise NormbenchError(f"what answers at {self.url} is no normbench; set NORMBENCH_URL")
        return content


def pauses() -> Iterator[float]:
    """Seconds to wait before each new try: longer each time, and not the same for everybody."""
    pause = FIRST_PAUSE
    while True:
        yield pause * random.uniform(0.5, 1.0)
        pause = min(2 * pause, LONGEST_PAUSE)


def _raise_for(answer: httpx.Response) -> None:
    if not answer.is_error:
        return
    try:
        problem = answer.json()
    except ValueError:
        problem = None
    if not isinstance(problem, Mapping):
        problem = {}
    errors = problem.get("errors") or []
    message = "\n".join(f"{'.'.join(map(str, e['loc'])) or 'spec'}: {e['msg']}" for e in errors)
    message = message or str(problem.get("detail") or f"{answer.status_code} {answer.reason_phrase}")
    raise BY_STATUS.get(answer.status_code, Refused)(message, status=answer.status_code, errors=errors)
