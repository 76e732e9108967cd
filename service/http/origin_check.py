"""Refuse requests that pages of other sites make: a browser on this machine can reach what listens on 127.0.0.1,
whoever wrote the page.

Browsers say in their requests which site a page is from (``Sec-Fetch-Site``, or else ``Origin``). A page whose own host
name was made to resolve to our address (DNS rebinding) is recognized by its ``Host``.
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


class RefuseStrangers:
    """Refuses requests for hosts that the service does not serve, and those of other sites' pages.

    It serves loopback names and ``allowed_hosts``; where keys are asked for, also this machine's name and any IP
    address, which no page can make its own. Following a link from another site to one of our pages is no such request.

    Args:
        allowed_hosts: further names, in lower case; ``*`` allows all.
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
                if host is not None:  # whoever is between could have counted the other one (RFC 9112, section 3.2)
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
                f"this service does not serve the host {_quoted(host)}; name it in NORMBENCH_ALLOWED_HOSTS if it should"
            )
        if site is None:
            foreign = origin is not None and origin.partition(b"://")[2].lower() != (host or b"").lower()
        else:
            follows_a_link = mode == b"navigate" and destination in (None, b"document")  # and opens no frame
            foreign = site not in OF_THIS_SITE and not (follows_a_link and scope["method"] in ("GET", "HEAD"))
        if foreign:
            return Forbidden("a page of another site asked a browser to send this; only pages of this service may")
        return None


def _name(host: bytes) -> str:
    """A ``Host`` without its port and brackets; empty if it is none."""
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


def _quoted(host: bytes) -> str:
    return repr(host[:100].decode("latin-1"))
