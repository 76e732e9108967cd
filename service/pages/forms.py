"""What forms send."""

from typing import Annotated
from urllib.parse import parse_qsl

from fastapi import Depends, Request

from service.errors import BadRequest, TooLarge
from service.keys import browser


async def form_fields(request: Request) -> list[tuple[str, str]]:
    """Names and values of a form's fields, in the order of the form; those left empty, too.

    Raises:
        BadRequest: the body is no form.
        TooLarge
    """
    limit = request.app.state.settings.max_body_bytes
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > limit:
            raise TooLarge(f"the form is over {limit} bytes")
    try:
        return parse_qsl(body.decode(), keep_blank_values=True, strict_parsing=bool(body), errors="strict")
    except ValueError as error:
        raise BadRequest(f"the body is no form: {error}") from None


FormFields = Annotated[list[tuple[str, str]], Depends(form_fields)]


async def own_fields(request: Request, fields: FormFields) -> list[tuple[str, str]]:
    """The same of a form that changes what is stored: nobody else can have made it.

    Raises:
        Forbidden: the browser has a key, and the form lacks its token.
    """
    browser.check_form(request, dict(fields).get(browser.TOKEN, ""))
    return [field for field in fields if field[0] != browser.TOKEN]


OwnFields = Annotated[list[tuple[str, str]], Depends(own_fields)]
