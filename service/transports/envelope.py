"""Envelope of a message on a broker that stores bytes. Kombu opens the envelope before Celery sees the message. If
kombu cannot open it, kombu raises an error that ends a worker.
"""

import base64
import logging
from typing import Annotated, Any, Literal

from kombu.utils.json import loads
from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

log = logging.getLogger(__name__)


def _base64(text: str) -> str:
    base64.b64decode(text.encode())
    return text


class Properties(BaseModel):
    model_config = ConfigDict(strict=True)

    delivery_tag: str
    delivery_info: dict[str, Any]
    body_encoding: Literal["base64"]


def _not_compressed(headers: dict[str, Any]) -> dict[str, Any]:
    if headers.get("compression") is not None:
        raise ValueError("a notification is never compressed, and kombu would inflate it whole")
    return headers


class Envelope(BaseModel):
    model_config = ConfigDict(strict=True)

    body: Annotated[str, AfterValidator(_base64)]
    headers: Annotated[dict[str, Any], AfterValidator(_not_compressed)]
    properties: Properties


def is_readable(raw: bytes) -> bool:
    """Tell if kombu can open this envelope. If not, write one line to the log: the message is dropped, and why."""
    try:
        Envelope.model_validate(loads(raw))
    except ValidationError as error:
        drop(first_fault(error))
    except Exception as error:  # not UTF-8, not JSON, nested too deeply, or not a valid date of kombu's
        drop(f"it cannot be read as JSON: {type(error).__name__}: {error}")
    else:
        return True
    return False


def first_fault(error: ValidationError) -> str:
    """Describe the first field that is wrong, and what it should be.

    The value is left out of the log, because anybody who reaches the broker can write any value.
    """
    first = error.errors(include_url=False, include_input=False)[0]
    return f"{'.'.join(map(str, first['loc'])) or 'message'}: {first['msg']}"


def drop(fault: str) -> None:
    """Log in one line that a message is dropped, and why."""
    log.warning("dropped a message from the broker: %s", " ".join(fault.split())[:300])
