"""Request bodies: JSON or YAML, up to a limit."""

import json
from itertools import islice
from typing import Annotated, Any

from fastapi import Depends, Request

from normcore.spec import SpecError
from normcore.spec.files import NotYaml, load_json, load_yaml, not_json
from normcore.spec.resolve import SHORTEST
from service.errors import BadRequest, Invalid, TooLarge
from service.http.readers import in_reader
from service.http.sizes import check_size

YAML_TYPES = ("application/yaml", "application/x-yaml", "text/yaml", "text/x-yaml")  # RFC 9512 and its old names
JSON = "application/json"
MAX_NAMED = 100  # numbers that are not finite, each with an error
MAX_YAML_BYTES = 32 * 1024  # reading it takes 10 us a byte
SMALL_BYTES = 4096  # of JSON, read in less time than a thread takes to start
A_SPEC = f"a spec is an object, as {SHORTEST}"
A_SWEEP = f'a sweep is an object, as {{"spec": {SHORTEST}, "grid": {{"norm.method": ["none", "layer_norm"]}}}}'
A_RESULT = (
    'a result is an object, as {"task": {"name": "permuted_digits"}, "values": [{"seed": 0, "value": 0.9}],'
    ' "provenance": {"source": "https://example.org/log"}}'
)
OTHERS = {"/v1/sweeps": A_SWEEP, "/v1/results": A_RESULT}  # bodies that are no specs, by their address


async def spec_body(request: Request) -> Any:
    """Read the body of a request, as JSON or YAML according to its ``Content-Type``. If the header names neither, JSON
    is tried first, then YAML.

    Raises:
        BadRequest: the body is empty, is neither JSON nor YAML, or has a key twice.
        Invalid: the body has numbers that are not finite, or a text that is too long; the error names each number.
        TooLarge: the body has too many bytes or values.
    """
    body = await read_body(request, request.app.state.settings.max_body_bytes, "body")
    declared = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    expected = f"{OTHERS.get(request.url.path, A_SPEC)}; with curl, send a file by --data-binary @FILE"
    if len(body) <= SMALL_BYTES and declared == JSON:
        return _read(body, declared, expected)
    return await in_reader(_read, body, declared, expected)


async def read_body(request: Request, limit: int, what: str) -> bytes:
    """Read all bytes of a body.

    Args:
        what: name of the body in the error message.

    Raises:
        TooLarge: the body has more than ``limit`` bytes; the rest is not read.
    """
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise TooLarge(f"the {what} has over {limit:,} bytes; send less")
    return bytes(body)


def _read(body: bytes, declared: str, expected: str) -> Any:
    written = _parse_body(body, declared, expected)
    check_size(written)
    _check_numbers(written)
    return written


def _check_numbers(written: Any) -> None:
    wrong = [
        SpecError(loc, f"{json.dumps(number)} is not a finite number; give a finite number", "finite_number")
        for loc, number in islice(not_json(written), MAX_NAMED)
    ]
    if wrong:
        raise Invalid(wrong)


def _parse_body(body: bytes, declared: str, expected: str) -> Any:
    if not body.strip():
        raise BadRequest(f"the body is empty; {expected}")
    if declared in YAML_TYPES:
        return _yaml(body, "not YAML", expected)
    try:
        return load_json(body)
    except json.JSONDecodeError as error:
        if declared == JSON:
            raise BadRequest(f"the body is not JSON: {error}; send YAML as application/yaml") from None
        return _yaml(body, f"neither JSON ({error}) nor YAML", expected)
    except ValueError as error:
        raise BadRequest(f"the body cannot be read: {error}") from None


def _yaml(body: bytes, otherwise: str, expected: str) -> Any:
    """Read a body as YAML.

    Args:
        otherwise: words for the error message, such as "not YAML", if the body is not YAML.
        expected: description of a right body, for the error message.
    """
    if len(body) > MAX_YAML_BYTES:
        raise TooLarge(
            f"the body is {otherwise}: it has {len(body)} bytes, and YAML may have {MAX_YAML_BYTES};"
            " send longer bodies as JSON"
        )
    try:
        spec = load_yaml(body.decode())
    except (NotYaml, UnicodeDecodeError) as error:
        raise BadRequest(f"the body is {otherwise}: {error}; {expected}") from None
    except ValueError as error:
        raise BadRequest(f"the body cannot be read: {error}") from None
    if not isinstance(spec, dict):
        raise BadRequest(f"the body holds no object; {expected}")
    return spec


SpecBody = Annotated[Any, Depends(spec_body)]
