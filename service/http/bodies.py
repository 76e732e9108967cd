"""Bodies: JSON or YAML, read no further than the limit."""

import json
from typing import Annotated, Any

from fastapi import Depends, Request
from starlette.concurrency import run_in_threadpool

from normcore.spec.files import load_json, load_yaml
from service.errors import BadRequest, TooLarge

YAML_TYPES = ("application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml", "application/vnd.yaml")
MAX_YAML_BYTES = 32 * 1024  # reading it takes 10 us a byte


async def spec_body(request: Request) -> Any:
    """The body, as JSON or YAML by its ``Content-Type``; as whichever it is, JSON first, where that says neither.

    Raises:
        BadRequest: it is neither, or says something twice.
        TooLarge
    """
    body = await _read(request, request.app.state.settings.max_body_bytes)
    declared = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if declared not in YAML_TYPES:
        try:
            return load_json(body)
        except json.JSONDecodeError as error:
            if declared == "application/json" or not _may_be_yaml(body):
                raise BadRequest(f"the body is not JSON: {error}") from None
        except ValueError as error:
            raise BadRequest(f"the body cannot be read: {error}") from None
    return await run_in_threadpool(_yaml, body)


async def _read(request: Request, limit: int) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise TooLarge(f"the body is over {limit} bytes; no spec is")
    return bytes(body)


def _may_be_yaml(body: bytes) -> bool:
    return not body.lstrip().startswith((b"{", b"[", b'"')) and bool(body.strip())


def _yaml(body: bytes) -> Any:
    if len(body) > MAX_YAML_BYTES:
        raise TooLarge(f"the body is over {MAX_YAML_BYTES} bytes of YAML; no spec is, and JSON may be longer")
    try:
        spec = load_yaml(body.decode())
    except ValueError as error:
        raise BadRequest(f"the body is neither JSON nor YAML: {error}") from None
    if not isinstance(spec, dict):
        raise BadRequest("the body is neither JSON nor YAML; with curl, send a file by --data-binary @FILE")
    return spec


SpecBody = Annotated[Any, Depends(spec_body)]
