"""Cache of answers. A cached answer is used again as long as its version is unchanged."""

import hashlib
import secrets
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping

from fastapi import Request, Response

from service.http.conditional import etag_matches

MOST = 32  # cached answers; each has up to some megabytes


class AnswerCache:
    """Cache of the last answers, by what was asked for. Several threads may use it."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Hashable, tuple[Hashable, bytes]] = OrderedDict()
        self._lock = threading.Lock()
        self._salt = secrets.token_hex(8)  # another database, or another service, may count up to the same versions

    def get(self, asked: Hashable, version: Hashable, make: Callable[[], bytes]) -> bytes:
        """Return the cached answer. If the cache has no answer of this version, call ``make`` for a new answer."""
        with self._lock:
            known, content = self._kept.get(asked, (None, b""))
        if known != version:
            content = make()
        with self._lock:
            self._kept[asked] = version, content
            self._kept.move_to_end(asked)
            if len(self._kept) > MOST:
                self._kept.popitem(last=False)
        return content

    def respond(
        self,
        request: Request,
        asked: Hashable,
        version: Hashable,
        make: Callable[[], bytes],
        *,
        media_type: str,
        headers: Mapping[str, str],
    ) -> Response:
        """Answer a request. If the client already has the answer in this version, the answer is 304, and ``make`` is
        not called.
        """
        etag = f'W/"{hashlib.blake2b(repr((self._salt, asked, version)).encode(), digest_size=16).hexdigest()}"'
        headers = {"ETag": etag, "Cache-Control": "no-cache", **headers}
        known = request.headers.get("if-none-match", "")
        if known and etag_matches(known, etag):
            return Response(status_code=304, headers=headers)
        return Response(self.get(asked, version, make), media_type=media_type, headers=headers)
