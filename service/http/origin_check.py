"""Refusal of requests that pages of other sites make. A browser on this machine can reach a server on 127.0.0.1,
whoever wrote the page.

Browsers say in their requests which site a page is from (``Sec-Fetch-Site``, or else ``Origin``). The host name of a
page may have been made to resolve to our address (DNS rebinding). Such a page is recognized by the ``Host`` header.
"""

import ipaddress
import socket
from collections.abc import Collection
from functools import lru_cache

from starlette.types import ASGIApp, Receive, Scope, Send

from service.errors import BadRequest, Forbidden, Misdirected, ServiceError
from service.http.problems import problem

ANY_HOST = "*"
OF_THIS_SITE = (b"same-origin", b"none")  # none: the user typed the address


class OriginCheck:
    """Refuses requests for hosts that the service does not serve, and requests from pages of other sites.

    The service serves loopback names and ``allowed_hosts``. If it asks for keys, it also serves this machine's name and
    any IP address, because no page can make these its own host name. A user may follow a link from another site to one
    of our pages.

    Args:
        allowed_hosts: further host names, in lower case; ``*`` allows all.
        require_keys: whether the service asks for keys.
    """

    def __init__(self, app: ASGIApp, *, allowed_hosts: Collection[str], require_keys: bool) -> None:
        self._app = app
        names = {"localhost", *allowed_hosts, *([socket.gethostname().lower()] if require_keys else [])}

        @lru_cache(maxsize=1024)
        def is_served(host: bytes) -> bool:
            name = _name(host)
            return ANY_HOST in names or name in names or _is_own_address(name, any_address=require_keys)

        self._is_served = is_served

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(scope) if scope["type"] == "http" else None
        app = self._app if refusal is None else problem(refusal)
        await app(scope, receive, send)

    def _refusal(self, scope: Scope) -> ServiceError | None:
        host = site = origin = mode = destination = None
        for name, value in scope["headers"]:
            if name == b"host":
                if host is not None:  # a proxy could have used the other header (RFC 9112, section 3.2)
                    return BadRequest("the request has two Host headers; send one")
                host = value
            elif name == b"sec-fetch-site":
                site = value
            elif name == b"origin":
                origin = value
            elif name == b"sec-fetch-mode":
                mode = value
            elif name == b"sec-fetch-dest":
                destination = value
        if host is not None and not self._is_served(host):
            return Misdirected(
                f"this service does not serve the host {_quote_host(host)}; "
                "name it in NORMBENCH_ALLOWED_HOSTS if it should"
            )
        if site is None:
            foreign = origin is not None and origin.partition(b"://")[2].lower() != (host or b"").lower()
        else:
            follows_a_link = mode == b"navigate" and destination in (None, b"document")  # not in a frame
            foreign = site not in OF_THIS_SITE and not (follows_a_link and scope["method"] in ("GET", "HEAD"))
        if foreign:
            return Forbidden("a page of another site asked a browser to send this; only pages of this service may")
        return None


def _name(host: bytes) -> str:
    """Host name in a ``Host`` header, without port and brackets; empty if the header holds no valid host."""
    text = host.decode("latin-1").lower()
    name, colon, port = text.rpartition(":")
    if not colon or port.endswith("]"):
        name, port = text, ""
    if port and not port.isdecimal():
        return ""
    return name.removeprefix("[").removesuffix("]").removesuffix(".")


def _is_own_address(name: str, *, any_address: bool) -> bool:
    try:
        address = ipaddress.ip_address(name)
    except ValueError:
        return False
    return any_address or address.is_loopback


def _quote_host(host: bytes) -> str:
    return repr(host[:100].decode("latin-1"))
