"""Fields that forms send."""

from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import Depends, Request

from normcore.spec.messages import quoted
from service.errors import BadRequest, TooLarge
from service.http.bodies import MAX_YAML_BYTES, SMALL_BYTES, read_body
from service.http.readers import in_reader
from service.keys import browser

MAX_BYTES, MAX_FIELDS = 8 * 1024, 10  # of a form with a button, or one line to fill in
MAX_SPEC_BYTES = 9 * MAX_YAML_BYTES  # of the form with a spec, which has its YAML twice, each letter as %XX
MAX_SPEC_FIELDS = 500
MAX_NAME = 200  # characters of a field's name
MAX_FIELD = 20_000  # characters of a field; 1,000 seeds have 12,000
OF_YAML = ("yaml", "yaml_shown")

Pairs = list[tuple[str, str]]


async def form_fields(request: Request) -> Pairs:
    """Names and values of a form's fields, in the order of the form; those left empty, too.

    Raises:
        BadRequest: the body is no form.
        TooLarge: it has too many bytes or fields.
    """
    return await _fields(request, MAX_BYTES, MAX_FIELDS)


async def spec_fields(request: Request) -> Pairs:
    """Fields of a form that holds a spec.

    Raises:
        BadRequest, TooLarge: also if a field is too long, or its name.
    """
    fields = await _fields(request, MAX_SPEC_BYTES, MAX_SPEC_FIELDS)
    for name, text in fields:
        if len(name) > MAX_NAME:
            raise BadRequest(
                f"the form has a field {quoted(name)} of {len(name):,} characters; no field has such a name"
            )
        if len(text) > MAX_FIELD and name not in OF_YAML:
            raise TooLarge(f"the field {quoted(name)} has over {MAX_FIELD:,} characters; shorten it")
    return fields


async def _fields(request: Request, most_bytes: int, most_fields: int) -> Pairs:
    body = await read_body(request, most_bytes, "form")
    if body.count(b"&") >= most_fields:
        raise TooLarge(f"the form has over {most_fields} fields; no form of this service has")
    return _parsed(body) if len(body) <= SMALL_BYTES else await in_reader(_parsed, body)


def _parsed(body: bytes) -> Pairs:
    try:
        return parse_qsl(body.decode(), keep_blank_values=True, strict_parsing=bool(body), errors="strict")
    except ValueError as error:
        raise BadRequest(f"the body is no form: {quoted(str(error))}") from None


FormFields = Annotated[Pairs, Depends(form_fields)]


def _own(request: Request, fields: Pairs) -> Pairs:
    """The fields of a form that changes what is stored: nobody else can have made it.

    Raises:
        Forbidden: the browser has a key, and the form lacks its token.
    """
    browser.check_form(request, dict(fields).get(browser.TOKEN, ""))
    return [field for field in fields if field[0] != browser.TOKEN]


async def own_fields(request: Request, fields: FormFields) -> Pairs:
    """The fields of a form that changes what is stored, checked as ``_own`` does."""
    return _own(request, fields)


async def own_spec_fields(request: Request, fields: Annotated[Pairs, Depends(spec_fields)]) -> Pairs:
    """Fields of a form that holds a spec, sent from a page of ours."""
    return _own(request, fields)


OwnSpecFields = Annotated[Pairs, Depends(own_spec_fields)]
