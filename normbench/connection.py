"""HTTP to one service: answers become plain values, refusals become errors, and safe requests are tried again."""

import math
import random
import re
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from typing import Any, TypeVar

import httpx

from normbench.errors import BY_STATUS, NormbenchError, Refused, Unauthorized, Unavailable, Unreachable

TIMEOUT_SECONDS, LEAST_SECONDS = 30.0, 1.0  # timeout of one answer, and the least that it may be cut to
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0  # seconds between two tries
EXAMPLE = "http://127.0.0.1:8000"
KEY = r"[!-~]+"  # characters that a header can carry in one word

Answer = TypeVar("Answer")


class Connection:
    """Connection to one service, with its address and API key.

    Args:
        url: address of the service.
        key: the API key; None for a service that does not ask for a key.
        patience: seconds for which a request that is safe to repeat is tried again while nothing answers.

    Raises:
        Unreachable: ``url`` is not a URL.
        Unauthorized: ``key`` holds characters that no key has.
    """

    def __init__(self, url: str, key: str | None, patience: float) -> None:
        if key and not re.fullmatch(KEY, key):
            raise Unauthorized(
                "the API key holds characters that no key has (a space, a line break, an accent?);"
                " set NORMBENCH_API_KEY to a key as `normbench keys create` shows it"
            )
        self.url, self.patience = url, patience
        self._shown = re.sub(r"(?<=://)[^/?#]*@", "", url)  # without a password
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        try:
            self._http = httpx.Client(base_url=url, headers=headers, timeout=TIMEOUT_SECONDS, verify=_certificates())
        except httpx.InvalidURL as error:
            raise Unreachable(
                f"{self._shown} is not a URL ({error}); set NORMBENCH_URL to one like {EXAMPLE}"
            ) from None
        host = self._http.base_url.host  # httpx writes characters that a host name cannot hold as %5B
        if self._http.base_url.scheme not in ("http", "https") or not host or ("%" in host and ":" not in host):
            raise Unreachable(f"{self._shown} is not a URL; set NORMBENCH_URL to one like {EXAMPLE}")

    def close(self) -> None:
        self._http.close()

    def call(self, method: str, path: str, *, safe: bool, within: float = math.inf, **request: Any) -> dict[str, Any]:
        """Send a request and return the JSON object of the answer.

        Args:
            safe: True if the request may be repeated without harm.
            within: seconds after which no new try begins. The last try has at least one second.

        Raises:
            Refused: the service refuses the request; often a subclass.
            Unreachable: nothing answers.
            NormbenchError: the server that answers is not normbench.
        """
        return self.exchange(method, path, safe=safe, within=within, **request)[1]

    def exchange(
        self, method: str, path: str, *, safe: bool, within: float = math.inf, **request: Any
    ) -> tuple[int, dict[str, Any]]:
        """Send a request; return the answer's status and JSON object. Arguments and errors are those of ``call``."""
        deadline = time.monotonic() + within

        def once() -> tuple[int, dict[str, Any]]:
            left = deadline - time.monotonic()
            timeout = min(TIMEOUT_SECONDS, max(left, LEAST_SECONDS))
            with self._translate_errors():
                answer = self._http.request(method, path, timeout=timeout, **request)
            _raise_for(answer)
            return answer.status_code, self._content(answer)

        return self.patiently(once, within) if safe else once()

    @contextmanager
    def stream(self, path: str, **request: Any) -> Iterator[httpx.Response]:
        """Open an answer that is read piece by piece. The request is tried once.

        Raises:
            Refused: the service refuses the request; often a subclass.
            Unreachable: nothing answers, or the connection breaks while the answer is read.
        """
        with self._translate_errors(), self._http.stream("GET", path, **request) as answer:
            if answer.is_error:
                answer.read()
            _raise_for(answer)
            yield answer

    def patiently(self, once: Callable[[], Answer], within: float = math.inf) -> Answer:
        """Call ``once``, again after growing pauses while the service is away; in the end raise the last error.

        Args:
            within: seconds after which no new try begins, if fewer than ``patience``.
        """
        deadline = time.monotonic() + min(self.patience, within)
        for pause in pauses():
            try:
                return once()
            except (Unreachable, Unavailable):
                if time.monotonic() + pause > deadline:
                    raise
            time.sleep(pause)
        raise AssertionError("unreachable")

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except httpx.TransportError as error:
            raise Unreachable(
                f"no service answers at {self._shown} ({error}); start one with `normbench up`, or set NORMBENCH_URL"
            ) from None

    def _content(self, answer: httpx.Response) -> dict[str, Any]:
        try:
            content = answer.json()
        except ValueError:
            content = None
        if not isinstance(content, dict):
            raise NormbenchError(f"the server at {self._shown} is not normbench; set NORMBENCH_URL to a service")
        return content


def pauses() -> Iterator[float]:
    """Yield the seconds to wait before each new try: they double up to a limit, with a random factor."""
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


@cache
def _certificates() -> ssl.SSLContext:
    """Read the certificates of authorities, once for all connections: it takes longer than many a request."""
    return httpx.create_ssl_context()
