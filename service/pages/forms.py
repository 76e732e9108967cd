"""Fields that forms send."""

from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import Depends, Request

from normcore.spec.messages import quote_value
from service.errors import BadRequest, TooLarge
from service.http.bodies import MAX_YAML_BYTES, SMALL_BYTES, read_body
from service.http.readers import in_reader
from service.keys import browser

MAX_BYTES, MAX_FIELDS = 8 * 1024, 10  # for a form that has a button, or one line to fill in
MAX_SPEC_BYTES = 9 * MAX_YAML_BYTES  # for the form with a spec: it has the YAML twice, and a byte may be sent as %XX
MAX_SPEC_FIELDS = 500
MAX_NAME = 200  # characters of a field's name
MAX_FIELD = 20_000  # characters of a field; 1,000 seeds have 12,000
OF_YAML = ("yaml", "yaml_shown")

Pairs = list[tuple[str, str]]


async def form_fields(request: Request) -> Pairs:
    """Names and values of a form's fields, in the order of the form. Empty fields are included.

    Raises:
        BadRequest: the body is not a form.
        TooLarge: the form has too many bytes or fields.
    """
    return await _fields(request, MAX_BYTES, MAX_FIELDS)


async def spec_fields(request: Request) -> Pairs:
    """Fields of a form that holds a spec.

    Raises:
        BadRequest: the body is not a form, or the name of a field is too long.
        TooLarge: the form has too many bytes or fields, or a field is too long.
    """
    fields = await _fields(request, MAX_SPEC_BYTES, MAX_SPEC_FIELDS)
    for name, text in fields:
        if len(name) > MAX_NAME:
            raise BadRequest(
                f"a field's name has {len(name):,} characters: {quote_value(name)}; a name has at most {MAX_NAME}"
            )
        if len(text) > MAX_FIELD and name not in OF_YAML:
            raise TooLarge(f"the field {quote_value(name)} has over {MAX_FIELD:,} characters; shorten it")
    return fields


async def _fields(request: Request, most_bytes: int, most_fields: int) -> Pairs:
    body = await read_body(request, most_bytes, "form")
    if body.count(b"&") >= most_fields:
        raise TooLarge(f"the form has over {most_fields} fields; send at most {most_fields}")
    return _parse_form(body) if len(body) <= SMALL_BYTES else await in_reader(_parse_form, body)


def _parse_form(body: bytes) -> Pairs:
    try:
        return parse_qsl(body.decode(), keep_blank_values=True, strict_parsing=bool(body), errors="strict")
    except ValueError as error:
        raise BadRequest(f"the body is not a form: {quote_value(str(error))}") from None


FormFields = Annotated[Pairs, Depends(form_fields)]


def _check_token(request: Request, fields: Pairs) -> Pairs:
    """Check that a form was sent from a page of this service. Returns the form's fields without the token.

    Raises:
        Forbidden: the browser has a key, but the form lacks the token that belongs to the key.
    """
    browser.check_form(request, dict(fields).get(browser.TOKEN, ""))
    return [field for field in fields if field[0] != browser.TOKEN]


async def own_fields(request: Request, fields: FormFields) -> Pairs:
    """Fields of a form that changes stored data, sent from a page of this service."""
    return _check_token(request, fields)


async def own_spec_fields(request: Request, fields: Annotated[Pairs, Depends(spec_fields)]) -> Pairs:
    """Fields of a form that holds a spec, sent from a page of this service."""
    return _check_token(request, fields)


OwnSpecFields = Annotated[Pairs, Depends(own_spec_fields)]
